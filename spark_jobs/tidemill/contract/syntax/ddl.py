"""Columns and types of a Spark DDL schema string, read without Spark.

Enough to refuse a spec that names a missing column before any JVM starts, and to tell whether a
file of another engine holds what the spec says. Whether the text is good DDL, Spark says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

_OPENING = "<("
_CLOSING = ">)"
_QUOTES = "`'\""
# What Spark takes for a name without backticks.
_PLAIN = re.compile(r"\w+", re.ASCII)
_TYPE = re.compile(r"\s*([A-Za-z_]+)")
_NUMBERS = re.compile(r"\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_END_OF_NAME = re.compile(r"[\s:]")
_FIXED_LENGTH = re.compile(r"\b(?:var)?char(?:acter)?\s*\(\s*\d+\s*\)", re.IGNORECASE)
# The last of a column; one within a struct is followed by a bracket.
_COMMENT = re.compile(
    r"""\bCOMMENT\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\Z""", re.IGNORECASE | re.DOTALL
)
_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")
_SAME = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "char": "string",
    "character": "string",
    "varchar": "string",
    "timestamp_ltz": "timestamp",
}
_KNOWN = frozenset(
    re.findall(
        r"\w+",
        """
        array bigint binary boolean date decimal double float geography geometry int interval map
        smallint string struct time timestamp timestamp_ntz tinyint variant void
        """,
    )
)


# The most of a decimal.
MOST_DIGITS = 38


@dataclass(frozen=True)
class DdlType:
    """A type of Spark's.

    Args:
        name: In lower case, one for each type: `integer` is `int`, `varchar` is `string`.
        items: The items of an array, or the values of a map.
    """

    name: str
    precision: int = 0
    scale: int = 0
    fields: Mapping[str, DdlType] = field(default_factory=dict)
    items: DdlType | None = None
    keys: DdlType | None = None


def column_names(ddl: str) -> tuple[str, ...]:
    """The top-level column names of e.g. ``"id string, tags array<struct<k: int>>"``.

    Raises:
        ValueError: a column has no name or no type, or a bracket or backtick stays open.
    """
    return tuple(_name(column) for column in split_columns(ddl))


def split_columns(ddl: str) -> list[str]:
    """The columns of a schema, or the arguments of a type, as they are written."""
    columns, start, depth, quoted, escaped = [], 0, 0, "", False
    for position, character in enumerate(ddl):
        if escaped:
            escaped = False
        elif quoted:
            escaped = character == "\\" and quoted != "`"
            quoted = "" if character == quoted else quoted
        elif character in _QUOTES:
            quoted = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            columns.append(ddl[start:position])
            start = position + 1
    if quoted or depth:
        msg = "a backtick, a quote or a bracket is not closed"
        raise ValueError(msg)
    columns.append(ddl[start:])
    return columns


def _name(column: str) -> str:
    text = column.strip()
    if text.startswith("`"):
        name, _, rest = text[1:].partition("`")
        if rest.startswith("`"):
            msg = (
                f"column '{text}' has a backtick in its name, which few places can hold; rename it"
            )
            raise ValueError(msg)
    else:
        name, _, rest = _unquoted(text)
        if name and not _PLAIN.fullmatch(name):
            msg = f"column '{name}' needs backticks: Spark takes only ASCII letters without them"
            raise ValueError(msg)
    if not name or not rest.strip(" :"):
        msg = f"column '{text}' needs a name and a type"
        raise ValueError(msg)
    return name


def _unquoted(text: str) -> tuple[str, str, str]:
    """The name, the sign after it and the rest of a column whose name has no backticks."""
    end = _END_OF_NAME.search(text)
    return (text[: end.start()], end[0], text[end.end() :]) if end else (text, "", "")


def fixed_length_type(ddl: str) -> str | None:
    """The first `char(n)` or `varchar(n)` of a schema, nested ones too; None where it has none."""
    found = _FIXED_LENGTH.search(_QUOTED.sub(" ", ddl))
    return found[0] if found else None


def column_types(ddl: str) -> Mapping[str, DdlType]:
    """Column -> type, in the schema's order.

    Raises:
        ValueError: a column has no name or no type, or a bracket or backtick stays open.
    """
    return dict(zip(column_names(ddl), map(_column_type, split_columns(ddl)), strict=True))


def column_comments(ddl: str) -> Mapping[str, str]:
    """Column -> what its COMMENT says of it, for those that have one."""
    found = {}
    for name, column in zip(column_names(ddl), split_columns(ddl), strict=True):
        comment = _COMMENT.search(column)
        if comment:
            found[name] = re.sub(r"\\(.)", r"\1", comment[1][1:-1])
    return found


def refuse_unknown_types(ddl: str) -> None:
    """Prove that Spark knows the name of each type of a schema, and has decimals of that size.

    Raises:
        ValueError: it does not, of a nested type too; also as for `column_names`.
    """
    for name, column in column_types(ddl).items():
        for kind in _types_within(column):
            if kind.name not in _KNOWN:
                near = get_close_matches(kind.name, {*_KNOWN, *_SAME}, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                msg = f"column '{name}' has the type '{kind.name}', which Spark does not know{hint}"
                raise ValueError(msg)
            if not kind.scale <= kind.precision <= MOST_DIGITS:
                size = f"decimal({kind.precision},{kind.scale})"
                msg = (
                    f"column '{name}' is {size}; Spark has at most {MOST_DIGITS} digits, and of "
                    "these at most all behind the point"
                )
                raise ValueError(msg)


def _types_within(kind: DdlType) -> Iterator[DdlType]:
    yield kind
    for inner in (*kind.fields.values(), kind.items, kind.keys):
        if inner is not None:
            yield from _types_within(inner)


def _column_type(column: str) -> DdlType:
    text = column.strip()
    text = _COMMENT.sub("", text)
    rest = text[1:].partition("`")[2] if text.startswith("`") else _unquoted(text)[2]
    return _type(rest.strip().removeprefix(":"))


def _type(text: str) -> DdlType:
    match = _TYPE.match(text)
    name = match[1].lower() if match else text.strip().lower()
    name = _SAME.get(name, name)
    inside = text[text.find("<") + 1 : text.rfind(">")]
    if name == "struct":
        return DdlType(name, fields=column_types(inside) if inside.strip() else {})
    if name == "array":
        return DdlType(name, items=_type(inside))
    if name == "map":
        keys, values = split_columns(inside)
        return DdlType(name, keys=_type(keys), items=_type(values))
    if name == "decimal":
        numbers = _NUMBERS.match(text, match.end() if match else 0)
        # Spark's default where nothing is given, and its scale where only the precision is.
        return DdlType(
            name,
            precision=int(numbers[1]) if numbers else 10,
            scale=int(numbers[2] or 0) if numbers else 0,
        )
    return DdlType(name)
