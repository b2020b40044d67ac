"""The column names of a Spark DDL schema string, read without Spark.

Spark itself parses the types when the job starts; here only the top-level names are needed, so that
a spec that names a column which is not there is refused before any JVM.
"""

from __future__ import annotations

_OPENING = "<("
_CLOSING = ">)"


def column_names(ddl: str) -> tuple[str, ...]:
    """The top-level column names of e.g. ``"id string, tags array<struct<k: int>>"``.

    Raises:
        ValueError: a column has no name or no type, or a bracket or backtick stays open.
    """
    return tuple(_name(column) for column in split_columns(ddl))


def split_columns(ddl: str) -> list[str]:
    """The columns of a schema, or the arguments of a type, as they are written."""
    columns, start, depth, quoted = [], 0, 0, False
    for position, character in enumerate(ddl):
        if character == "`":
            quoted = not quoted
        elif quoted:
            continue
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            columns.append(ddl[start:position])
            start = position + 1
    if quoted or depth:
        msg = "a backtick or a bracket is not closed"
        raise ValueError(msg)
    columns.append(ddl[start:])
    return columns


def _name(column: str) -> str:
    text = column.strip()
    if text.startswith("`"):
        name, _, rest = text[1:].partition("`")
    else:
        name, _, rest = text.replace(":", " ", 1).partition(" ")
    if not name or not rest.strip(" :"):
        msg = f"column '{text}' needs a name and a type"
        raise ValueError(msg)
    return name
