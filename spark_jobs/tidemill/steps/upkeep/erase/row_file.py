"""A Parquet file of rows: how many of them are to be erased, and the same file without them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import arrow_source
from tidemill.file_formats.parquet import TornParquet, read_footer
from tidemill.file_formats.parquet_rows import python_values
from tidemill.file_formats.reader import REJECT
from tidemill.publish.rejected.remaining import COLUMNS
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.storage.folders import whole_file
from tidemill.storage.sync import sync

# The column of the table of rejected rows, and the field of one in a sink's file.
RECORD = "record"
SUFFIX = re.compile(r"-erased-\d{6}(?=\.parquet$)")


class NotErasable(Refused):
    """Rows cannot be erased from a pipeline; carries `pipeline` and `reasons`."""


@dataclass(frozen=True)
class RowFile:
    """A file that holds rows which are to be erased.

    Args:
        good: How many of them are good rows.
        rejected: How many are rejected ones.
    """

    path: Path
    good: int
    rejected: int

    def without(self, erasure: int) -> Path:
        """The path of the same file without these rows."""
        name = SUFFIX.sub("", self.path.name)
        return self.path.with_name(f"{name.removesuffix('.parquet')}{suffix_of(erasure)}.parquet")


def suffix_of(erasure: int) -> str:
    """What the names of files end with that an erasure has written."""
    return f"-erased-{erasure:06d}"


def look_at(path: Path, condition: Condition) -> RowFile | None:
    """What a file holds of the rows; None where it holds none.

    Raises:
        TornParquet: it is not a whole Parquet file.
        NotErasable: a column of the condition has values that cannot be compared.
    """
    good = rejected = 0
    for _, places, are_rejected in _found(path, condition):
        rejected += len(places) if are_rejected is None else sum(are_rejected[p] for p in places)
        good += 0 if are_rejected is None else sum(not are_rejected[p] for p in places)
    return RowFile(path, good, rejected) if good or rejected else None


def write_without(file: RowFile, condition: Condition, erasure: int, layout: Layout) -> Path:
    """Write a file without its rows that are to be erased, beside it.

    One that an interrupted erasure has left is used, if it has the right rows.

    Returns:
        Its path.
    """
    place = file.without(erasure)
    source = _open(file.path)
    kept = source.metadata.num_rows - file.good - file.rejected
    if not _has_rows(place, kept):
        with (
            whole_file(place) as draft,
            draft.open("wb") as target,
            pq.ParquetWriter(target, source.schema_arrow) as writer,
        ):
            for group, places, _ in _found(file.path, condition):
                rows = source.read_row_group(group)
                stays = pa.array([place not in places for place in range(len(rows))], pa.bool_())
                writer.write_table(rows.filter(stays))
    sync([place], layout.root)
    return place


def _found(
    path: Path, condition: Condition
) -> list[tuple[int, frozenset[int], Sequence[bool] | None]]:
    """Row group -> the places of its rows, and which rows are rejected; None for all of them."""
    file = _open(path)
    names = file.schema_arrow.names
    if {*COLUMNS.names} == {*names}:
        wanted = [RECORD]
    else:
        wanted = [name for name in (*condition.columns, REJECT) if name in names]
    found = []
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, columns=wanted)
        found.append((group, *_places(rows, condition, path)))
    return found


def _places(
    rows: pa.Table, condition: Condition, path: Path
) -> tuple[frozenset[int], Sequence[bool] | None]:
    if rows.column_names == [RECORD]:
        records = python_values(rows.column(RECORD))
        return _of_records(records, condition), None
    are_rejected = [False] * len(rows)
    places = frozenset[int]()
    if REJECT in rows.column_names:
        records = [None] * len(rows)
        valid = pc.is_valid(rows.column(REJECT)).to_pylist()
        if any(valid):
            are_rejected = valid
            records = [_record(one) for one in rows.column(REJECT).to_pylist()]
            places = _of_records(records, condition)
    if all(name in rows.column_names for name in condition.columns):
        masks = [
            pc.is_in(_as_text(rows.column(name), name, path), pa.array(values, pa.string()))
            for name, values in condition.columns.items()
        ]
        alike = masks[0]
        for mask in masks[1:]:
            alike = pc.and_(alike, mask)
        good = {place for place, one in enumerate(alike.to_pylist()) if one}
        places |= {place for place in good if not are_rejected[place]}
    return places, are_rejected


def _of_records(records: Sequence[str | None], condition: Condition) -> frozenset[int]:
    return frozenset(n for n, record in enumerate(records) if condition.holds_record(record))


def _record(reject: dict[str, Any] | None) -> str | None:
    return None if reject is None else reject.get(RECORD)


def _as_text(column: pa.ChunkedArray, name: str, path: Path) -> pa.ChunkedArray:
    kind = column.type
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_date32)
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not any(one(kind) for one in (*kinds, pa.types.is_null)):
        raise NotErasable(
            f"{path} has values of type {kind} in {name}, which have more than one spelling.",
            remedy="Erase by another column.",
            pipeline=None,
            reasons=(str(path),),
        )
    return column.cast(pa.string())


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(arrow_source(path), coerce_int96_timestamp_unit="us")
    except pa.ArrowException as error:
        raise TornParquet(
            f"{path} is not a whole Parquet file: {error}",
            remedy="Restore it from a backup, or remove it if no log names it.",
            file=path,
            size=path.stat().st_size,
            reason=str(error),
        ) from error


def _has_rows(path: Path, rows: int) -> bool:
    try:
        return read_footer(path).rows == rows
    except (FileNotFoundError, Refused, OSError):
        return False
