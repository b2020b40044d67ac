"""The columns of a Delta table as a Hive metastore holds them.

They are for people and tools that browse the metastore; engines take them from Delta's own log.
"""

from collections.abc import Mapping
from typing import Any

# Delta's names of types that Hive has another name for.
_NAMES = {
    "byte": "tinyint",
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "timestamp_ntz": "timestamp",
}
# The metastore's databases have no more room for the comment of a column.
LONGEST_COMMENT = 256


def hive_columns(
    schema: Mapping[str, Any], descriptions: Mapping[str, str]
) -> list[tuple[str, str, str | None]]:
    """Name, type and comment of each column.

    Args:
        schema: Delta's schema as JSON.
        descriptions: Column -> text; where there is none, the table's own comment.
    """
    columns = []
    for field in schema["fields"]:
        said = descriptions.get(field["name"]) or field["metadata"].get("comment")
        comment = said[:LONGEST_COMMENT] if said else None
        columns.append((field["name"].lower(), _type(field["type"]), comment))
    return columns


def _type(given: Any) -> str:
    if isinstance(given, str):
        return _NAMES.get(given, given)
    if given["type"] == "array":
        return f"array<{_type(given['elementType'])}>"
    if given["type"] == "map":
        return f"map<{_type(given['keyType'])},{_type(given['valueType'])}>"
    fields = ",".join(f"{one['name']}:{_type(one['type'])}" for one in given["fields"])
    return f"struct<{fields}>"
