"""Finds values that a database cannot store, before any row is written.

PostgreSQL's texts hold no NUL character, MariaDB's numbers neither NaN nor infinity, its dates no
year after 9999; neither takes a date before the year 1 as it is written elsewhere.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from tidemill.contract.errors import Refused
from tidemill.publish import encoding

NUL = "\0"
# In JSON: a backslash that no other one takes the meaning of, and this number.
NUL_IN_JSON = r"(^|[^\\])(\\\\)*\\u0000"
FIRST_YEAR, LAST_YEAR = 1, 9999


class Unstorable(Refused):
    """The database has no place for a value; carries `column`, `values` and `why`."""


@dataclass
class Storable:
    """Makes chunks storable; arrays, maps and structs become JSON.

    Args:
        otherwise: What becomes of a value that is not: its increment is refused, or null is stored.
        nul: Whether texts may hold NUL.
        not_finite: Whether numbers may be NaN or infinite.
        far_years: Whether dates may be after the year 9999.
        early_years: Whether they may be before the year 1.
        nulled: Column -> values for which null was stored.
    """

    otherwise: Literal["refuse", "as_null"]
    nul: bool = True
    not_finite: bool = True
    far_years: bool = True
    early_years: bool = True
    nulled: Counter[str] = field(default_factory=Counter)

    def of(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """A chunk that can be stored.

        Raises:
            Unstorable: it cannot, and null is not wanted.
        """
        columns = [self._column(name, chunk.column(name)) for name in chunk.schema.names]
        return pa.RecordBatch.from_arrays(columns, names=chunk.schema.names)

    def _column(self, name: str, column: pa.Array) -> pa.Array:
        nested = encoding.is_nested(column.type)
        if nested:
            column = encoding.json_texts(column)
        found = self._without_place(column, nested)
        count = 0 if found is None else pc.sum(found).as_py() or 0
        if not count:
            return column
        if self.otherwise == "refuse":
            why = self._why(column.type)
            raise Unstorable(
                f"Column '{name}' has {count} values that are {why}, which the database has no "
                "place for.",
                remedy="Set `unstorable: as_null` at the target to store null for them, or clean "
                "them in the transform; to this target nothing was published.",
                column=name,
                values=count,
                why=why,
            )
        self.nulled[name] += count
        return pc.if_else(pc.fill_null(found, False), pa.scalar(None, column.type), column)

    def _without_place(self, column: pa.Array, nested: bool) -> pa.Array | None:
        """True for each value without a place; None where there is none."""
        kind = column.type
        if pa.types.is_string(kind) and not self.nul:
            if nested:
                return pc.match_substring_regex(column, NUL_IN_JSON)
            return pc.match_substring(column, NUL)
        if pa.types.is_floating(kind) and not self.not_finite:
            return pc.invert(pc.is_finite(column))
        if pa.types.is_temporal(kind) and not (self.far_years and self.early_years):
            return self._beyond(column)
        return None

    def _beyond(self, column: pa.Array) -> pa.Array:
        early, late = _outside(column)
        nothing = pa.repeat(False, len(column))
        return pc.or_(nothing if self.early_years else early, nothing if self.far_years else late)

    def _why(self, kind: pa.DataType) -> str:
        if pa.types.is_string(kind):
            return "texts with a NUL character"
        if pa.types.is_floating(kind):
            return "NaN or infinite"
        after = "" if self.far_years else f" or after {LAST_YEAR}"
        return f"before the year {FIRST_YEAR}{after}"


def _outside(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Which dates are before the first year, and which after the last."""
    zone = UTC if getattr(column.type, "tz", None) else None
    first = datetime(FIRST_YEAR, 1, 1, tzinfo=zone)
    last = datetime(LAST_YEAR, 12, 31, 23, 59, 59, 999999, tzinfo=zone)
    if pa.types.is_date(column.type):
        bounds: tuple[date, date] = (first.date(), last.date())
    else:
        bounds = (first, last)
    least, most = (pa.scalar(bound, column.type) for bound in bounds)
    return pc.less(column, least), pc.greater(column, most)
