"""The types of Spark's columns: which file formats, tables, targets and readers can hold each.

`TYPES` is the one table of this; `docs/reference/column-types.md` prints it, and a test writes and
reads each cell. A column of the result that some place of its pipeline cannot hold is refused
before the first batch, with what to cast it to: otherwise its rows would pass the gate and could
never be published.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FORMATS = ("parquet", "orc", "avro", "json", "csv")
READERS = ("pandas", "Polars", "DuckDB", "Spark")
# A table is a set of Parquet files that a Delta log names.
TABLE = ("parquet", "Delta", *READERS)
# What stands in the column of the table of types -> the kind of target in a spec.
TARGETS = {"PostgreSQL": "postgres", "MariaDB": "mariadb", "Kafka": "kafka"}
PLACES = (*FORMATS, *TABLE[1:], *TARGETS)
EVERYWHERE = frozenset(PLACES)
NOT_IN_TABLES = frozenset((*TABLE[1:], *TARGETS))

# A type as Spark's JSON schema has it: a name, or an object for a nested one.
Kind = str | Mapping[str, Any]


@dataclass(frozen=True)
class TypeRule:
    """A type of Spark's, and the places that cannot hold a column of it.

    Args:
        name: As Spark's DDL says it.
        example: A value, as Spark SQL; empty where a test has none.
        pattern: A regular expression for the type's name in Spark's JSON schema.
        cannot: Places that cannot hold it, alone, in an array, a map or a struct.
        nested: Further places that cannot hold it within an array, a map or a struct.
        in_maps: Further places that cannot hold it within a map.
        instead: What the transform selects in its place; `{}` stands for the column.
    """

    name: str
    example: str
    pattern: str
    cannot: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset({"csv"})
    in_maps: frozenset[str] = frozenset()
    instead: str = "CAST({} AS STRING)"

    def matches(self, kind: str) -> bool:
        return re.fullmatch(self.pattern, kind) is not None

    def places_without(self, within: tuple[str, ...]) -> frozenset[str]:
        """The places that cannot hold it inside `array`, `map` and `struct`, outermost first."""
        places = self.cannot | (self.nested if within else frozenset())
        return places | (self.in_maps if "map" in within else frozenset())


TYPES = (
    TypeRule("boolean", "true", "boolean"),
    TypeRule("tinyint", "1Y", "byte"),
    TypeRule("smallint", "1S", "short"),
    TypeRule("int", "1", "integer"),
    TypeRule("bigint", "1L", "long"),
    TypeRule("float", "1.5F", "float"),
    TypeRule("double", "1.5D", "double"),
    TypeRule("decimal(38,18)", "CAST(1.5 AS DECIMAL(38,18))", r"decimal\(.*\)"),
    TypeRule("string", "'a'", "string"),
    TypeRule(
        "string collate UTF8_LCASE",
        "'A' COLLATE UTF8_LCASE",
        "string collate .*",
        cannot=frozenset({"avro"}),
    ),
    TypeRule("char(5)", "CAST('ab' AS CHAR(5))", r"char\(.*\)"),
    TypeRule("varchar(5)", "CAST('ab' AS VARCHAR(5))", r"varchar\(.*\)"),
    TypeRule("binary", "X'00ff'", "binary"),
    TypeRule("date", "DATE'2026-03-01'", "date"),
    TypeRule("timestamp", "TIMESTAMP'2026-03-01 12:00:00'", "timestamp"),
    TypeRule(
        "timestamp_ntz",
        "TIMESTAMP_NTZ'2026-03-01 12:00:00'",
        "timestamp_ntz",
        in_maps=frozenset({"Delta", *READERS, *TARGETS}),
    ),
    TypeRule("time", "TIME'12:30:00'", r"time(\(.*\))?", cannot=EVERYWHERE),
    TypeRule(
        "interval day to second",
        "INTERVAL '1' DAY",
        "interval (day|hour|minute|second).*",
        cannot=NOT_IN_TABLES,
    ),
    TypeRule(
        "interval year to month",
        "INTERVAL '1' YEAR",
        "interval (year|month).*",
        cannot=NOT_IN_TABLES,
    ),
    TypeRule("interval", "make_interval(1, 2)", "interval", cannot=EVERYWHERE),
    TypeRule(
        "variant",
        "parse_json('[1]')",
        "variant",
        cannot=NOT_IN_TABLES | {"orc", "avro", "csv"},
        instead="to_json({})",
    ),
    TypeRule("void", "NULL", "void", cannot=frozenset({"orc", "csv", "Polars", *TARGETS})),
    TypeRule(
        "geometry",
        "ST_GeomFromWKB(X'0101000000000000000000F03F0000000000000040')",
        r"geometry(\(.*\))?",
        cannot=EVERYWHERE - {"parquet"},
        instead="ST_AsBinary({})",
    ),
    TypeRule(
        "geography",
        "ST_GeogFromWKB(X'0101000000000000000000F03F0000000000000040')",
        r"geography(\(.*\))?",
        cannot=EVERYWHERE - {"parquet"},
        instead="ST_AsBinary({})",
    ),
    TypeRule("struct<>", "", "struct<>", cannot=EVERYWHERE),
    TypeRule("user-defined type", "", "udt", cannot=EVERYWHERE, instead="its parts"),
)


@dataclass(frozen=True)
class Unfit:
    """A column that not every place of its pipeline can hold.

    Args:
        column: Its name; inside of a nested column the path to it, with dots.
        what: What is wrong with it.
        instead: What to do in the transform.
    """

    column: str
    what: str
    instead: str


def unfit_columns(
    schema: Mapping[str, Any], format: str, targets: Iterable[str]
) -> Iterator[Unfit]:
    """The columns of a result that its files, tables, targets and readers cannot hold.

    Args:
        schema: The result's schema, as Spark's JSON has it.
        format: `output.format`.
        targets: The kinds of the targets under `publish`.
    """
    of_targets = (place for place, kind in TARGETS.items() if kind in targets)
    places = (*(TABLE if format == "parquet" else (format,)), *of_targets)
    yield from _unfit_names(schema["fields"], ())
    for field in schema["fields"]:
        for path, kind, within in _leaves(field["type"], (field["name"],), (), field):
            rule = next((one for one in TYPES if one.matches(kind)), None)
            refused = rule.places_without(within) & {*places} if rule else {*places}
            if refused:
                yield Unfit(
                    ".".join(path),
                    f"is of type {kind}, which {_listed([p for p in places if p in refused])} "
                    "cannot hold",
                    _instead(field, rule, kind, within),
                )


def _unfit_names(fields: Iterable[Mapping[str, Any]], path: tuple[str, ...]) -> Iterator[Unfit]:
    seen: dict[str, str] = {}
    for field in fields:
        name = field["name"]
        full = ".".join((*path, name))
        if not name:
            place = f"a field of '{'.'.join(path)}'" if path else "a column"
            yield Unfit(full, f"is {place} without a name", "Give it a name: AS name")
        elif name.lower() in seen:
            other = ".".join((*path, seen[name.lower()]))
            yield Unfit(
                full,
                f"has the name of '{other}', and tables do not tell names apart by case",
                "Drop or rename one of them, as in .drop(right.key) after a join",
            )
        seen.setdefault(name.lower(), name)
        for inner, inside in _structs(field["type"], (*path, name)):
            yield from _unfit_names(inside, inner)


def _structs(kind: Kind, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The outermost structs in a type, each with the path to it."""
    if isinstance(kind, str):
        return
    if kind["type"] == "struct":
        yield path, kind["fields"]
    for part in ("elementType", "keyType", "valueType"):
        if part in kind:
            yield from _structs(kind[part], path)


def _leaves(
    kind: Kind, path: tuple[str, ...], within: tuple[str, ...], field: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """The types that are not nested, each with its path and what it is inside of."""
    if isinstance(kind, str):
        yield path, _collated(kind, field), within
    elif kind["type"] == "struct":
        if not kind["fields"]:
            yield path, "struct<>", within
        for one in kind["fields"]:
            yield from _leaves(one["type"], (*path, one["name"]), (*within, "struct"), one)
    elif kind["type"] in ("array", "map"):
        for part in ("elementType", "keyType", "valueType"):
            if part in kind:
                yield from _leaves(kind[part], path, (*within, kind["type"]), field)
    else:
        yield path, "udt", within


def _collated(kind: str, field: Mapping[str, Any]) -> str:
    """Spark's JSON has collations in a field's metadata, by the paths of its parts."""
    collations = field.get("metadata", {}).get("__COLLATIONS")
    if kind != "string" or not collations:
        return kind
    return f"string collate {min(collations.values()).rpartition('.')[2]}"


def _instead(
    field: Mapping[str, Any], rule: TypeRule | None, kind: str, within: tuple[str, ...]
) -> str:
    column = quoted(field["name"])
    if not within and rule:
        return f"Select {rule.instead.format(column)} AS {column} in its place"
    if kind == "void" and "map" in within and field["type"]["type"] == "map":
        return f"Give it its types: from_json('{{}}', 'MAP<STRING, STRING>') AS {column}"
    return f"Select CAST({column} AS {_without(field['type'], kind)}) AS {column} in its place"


def _without(kind: Kind, unfit: str) -> str:
    """A nested type as DDL, with STRING in place of what does not fit."""
    if isinstance(kind, str):
        return "STRING" if kind == unfit or unfit == "udt" else kind.upper()
    if kind["type"] == "array":
        return f"ARRAY<{_without(kind['elementType'], unfit)}>"
    if kind["type"] == "map":
        return f"MAP<{_without(kind['keyType'], unfit)}, {_without(kind['valueType'], unfit)}>"
    if kind["type"] != "struct" or not kind["fields"]:
        return "STRING"
    fields = (f"{quoted(one['name'])}: {_without(one['type'], unfit)}" for one in kind["fields"])
    return f"STRUCT<{', '.join(fields)}>"


def quoted(name: str) -> str:
    """A column's name as Spark SQL takes it."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"`{name.replace('`', '``')}`"


def quoted_text(text: str) -> str:
    """A text as Spark SQL takes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def printed_table() -> str:
    """The table of `docs/reference/column-types.md`."""
    rows = [["type", *PLACES, "select instead"], ["---"] * (len(PLACES) + 2)]
    for rule in TYPES:
        cells = [_cell(rule, place) for place in PLACES]
        instead = rule.instead.format("c") if "no" in cells or "no map" in cells else ""
        rows.append([rule.name, *cells, instead])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(rule: TypeRule, place: str) -> str:
    if place in rule.cannot:
        return "no"
    if place in rule.nested:
        return "alone"
    return "no map" if place in rule.in_maps else "yes"
