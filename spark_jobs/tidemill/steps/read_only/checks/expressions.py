"""Checks the expressions of a spec without Spark: syntax, functions and columns."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from tidemill.contract.syntax.unrepeatable_sql import unrepeatable_in_sql
from tidemill.spec.complaints import Location, field_name
from tidemill.spec.model import is_engine_column
from tidemill.spec.spec import Spec
from tidemill.steps.read_only.checks.problem import Places, Problem
from tidemill.steps.read_only.checks.select_columns import Columns
from tidemill.steps.read_only.checks.spark_sql import (
    NotSparkSql,
    columns_named,
    nearest,
    tree_of,
    unknown_functions,
    words_of,
)

_ALMOST = 0.8


class Place(NamedTuple):
    """An expression of a spec.

    Attributes:
        at: Its location in the spec.
        columns: The columns that it may name; None where they are not known.
        rows: What the columns are of.
        repeatable: Whether it has to give the same value each time.
    """

    at: Location
    sql: str
    columns: Columns | None
    rows: str
    repeatable: bool


def problems_of_expressions(
    spec: Spec, places: Places, transform: Path | None, result: Columns | None
) -> Iterator[Problem]:
    """The problems with row rules, partitions and metrics.

    Args:
        places: Where the spec's values come from.
        transform: The transform's file.
        result: The columns of the published rows, where they are known.
    """
    functions_known = not any("extensions" in name for name in spec.spark.conf)
    for place in dict.fromkeys(_places(spec, result)):
        field = field_name(place.at)
        for what, remedy in _problems(place, functions_known=functions_known):
            yield places.problem(place.at, f"{field} {what}", remedy)
        columns = place.columns or ()
        for used in unrepeatable_in_sql(place.sql, columns) if place.repeatable else ():
            what = f"{field} uses {used}, which gives another value the next time"
            yield places.problem(place.at, what, "Compute it from the row.")
    if result is None and transform is not None and transform.is_file():
        for name, what, remedy in _misspelt_partitions(spec, transform):
            at = ("output", "partition_by", name)
            yield places.problem(at, f"{field_name(at)} {what}", remedy)


def _misspelt_partitions(spec: Spec, transform: Path) -> Iterator[tuple[str, str, str]]:
    """The words that are nearly a source's column and that the transform does not know either."""
    columns = {c.lower(): c for source in spec.sources.values() for c in source.columns}
    text = transform.read_text(encoding="utf-8", errors="replace")
    for name, sql in spec.output.partition_by.items():
        for word in unknown_words(words_of(sql), columns):
            near = get_close_matches(word.lower(), columns, n=1, cutoff=_ALMOST)
            if near and word not in text:
                what = f"names '{word}', which is not a column of the source"
                yield name, what, f"Did you mean '{columns[near[0]]}'?"


def _places(spec: Spec, result: Columns | None) -> Iterator[Place]:
    partitions, published = spec.output.partition_by, spec.published
    for name, source in spec.sources.items():
        own = (*source.columns, *partitions)
        for rule, sql in spec.row_rules.items():
            yield Place(("row_rules", rule), sql, own, "the source", published)
        for rule, sql in source.row_rules.items():
            at = ("sources", name, "row_rules", rule)
            yield Place(at, sql, own, "the source", published)
    sources = tuple(dict.fromkeys(c for one in spec.sources.values() for c in one.columns))
    # A partition may be made of the transform's columns, which are known of some alone.
    both = None if result is None else tuple(dict.fromkeys((*sources, *result)))
    for name, sql in partitions.items():
        yield Place(("output", "partition_by", name), sql, both, "the source or result", published)
    for name, sql in spec.observe.items():
        yield Place(("observe", name), sql, result, "the result", False)


def _problems(place: Place, *, functions_known: bool) -> Iterator[tuple[str, str]]:
    try:
        tree = tree_of(place.sql)
    except NotSparkSql as error:
        found = error.mistake
        where = f" (character {found.column})" if found.column and "\n" not in place.sql else ""
        yield f"{found.what}{where}", found.remedy
        return
    if tree is None:
        return
    if functions_known:
        for name, remedy in unknown_functions(tree, place.sql):
            yield f"calls {name}(), which Spark does not have", remedy
    if place.columns is not None:
        for word in unknown_words(columns_named(tree), place.columns):
            what = f"names '{word}', which is not a column of {place.rows}"
            yield what, nearest(word, place.columns)


def unknown_words(words: Collection[str], known: Collection[str]) -> list[str]:
    """The words that are neither known, in any letter case, nor the engine's."""
    lower = {one.lower() for one in known}
    return [word for word in words if word.lower() not in lower and not is_engine_column(word)]
