"""The columns of the good table, from the JSON schema that Spark writes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["integer", "float", "decimal", "string", "boolean", "date", "timestamp", "other"]

# A decimal of up to 15 digits survives the way through a double and back.
EXACT_DIGITS = 15
# Beyond this not every integer is a double.
EXACT_INTEGER = 2**53

_KINDS: dict[str, Kind] = {
    "byte": "integer",
    "short": "integer",
    "integer": "integer",
    "long": "integer",
    "float": "float",
    "double": "float",
    "string": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")


@dataclass(frozen=True)
class Column:
    """One column: its name, Spark's name of its type, and what it is to an expectation."""

    name: str
    type: str
    kind: Kind

    @property
    def zoned(self) -> bool:
        """An instant, which is shown in the session's time zone."""
        return self.type == "timestamp"


def parse_columns(schema: str) -> Mapping[str, Column]:
    """The columns in order.

    Args:
        schema: `DataFrame.schema.json()` of the good table, with its partition columns.
    """
    return {field["name"]: _column(field) for field in json.loads(schema)["fields"]}


def _column(field: dict[str, Any]) -> Column:
    name, kind = field["name"], field["type"]
    if not isinstance(kind, str):
        return Column(name, str(kind["type"]), "other")
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        # Doubles would make two wide decimals one, so these are left as they are.
        return Column(name, kind, "decimal" if int(decimal[1]) <= EXACT_DIGITS else "other")
    return Column(name, kind, _KINDS.get(kind, "other"))
