"""Checks that `output.keys` are unique in a result, as far as its plan shows.

In mode `update` a row replaces the one with the same keys. A key that is itself aggregated changes
with every batch and replaces nothing; one of the groups left out lets a group replace another. Both
would make the table another than the batch query's, without an error.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from tidemill.contract.errors import SpecError
from tidemill.engine.spark_internals.plan import analysed, items, kind
from tidemill.spec.output import OutputMode
from tidemill.spec.spec import Spec


class KeyUnknown(SpecError):
    """A key is not a column of the result; carries `column` and `columns`."""


class KeyIncomplete(SpecError):
    """The keys leave out what tells rows apart; carries `missing`, names as Spark has them."""


class RowsVanish(SpecError):
    """The transform filters aggregated rows: one that was published is never taken back.

    Carries `condition`, as Spark prints it.
    """


class KeyChanges(SpecError):
    """A key is an aggregated value, so that a changed row is a new one; carries `column`."""


def refuse_keys(transformed: DataFrame, spec: Spec, spec_file: Path) -> None:
    """Look at the keys, before a query starts.

    Raises:
        KeyUnknown: one is not a column of the result.
        KeyIncomplete: a partition column or a group is not among them.
        KeyChanges: one is an aggregated value.
        RowsVanish: a row may leave the result again, which mode `update` does not say.
    """
    keys = spec.output.keys
    for key in keys:
        if key not in transformed.columns:
            raise _unknown(key, transformed.columns, spec_file)
    if spec.output.mode is not OutputMode.UPDATE:
        return
    missing = [name for name in spec.output.partition_by if name not in keys]
    plan = analysed(transformed)
    aggregate = next((node for node in _line(plan) if kind(node) == "Aggregate"), None)
    if aggregate is not None:
        _refuse_filter(plan, spec_file)
        groups: set[int] = set()
        for key in keys:
            ids = {next(c.exprId().id() for c in items(plan.output()) if c.name() == key)}
            groups |= _groups(plan, ids, key, spec_file)
        missing += [
            reference.name()
            for group in items(aggregate.groupingExpressions())
            for reference in items(group.references().toSeq())
            if reference.exprId().id() not in groups
        ]
    if missing:
        raise KeyIncomplete(
            f"{spec_file}: output.keys ({', '.join(keys)}) lack {', '.join(missing)}, by which "
            "rows are told apart too.",
            remedy="Add the columns that it becomes in the result.",
            path=spec_file,
            field="output.keys",
            missing=missing,
        )


def _refuse_filter(plan: Any, spec_file: Path) -> None:
    above = takewhile(lambda node: kind(node) != "Aggregate", _line(plan))
    found = next((node for node in above if kind(node) == "Filter"), None)
    if found is not None:
        condition = found.condition().sql()
        raise RowsVanish(
            f"{spec_file}: in output.mode update the transform filters aggregated rows by "
            f"{condition}; a row that was published and no longer fits would stay.",
            remedy="Filter before the aggregation or when reading, or use output.mode complete.",
            path=spec_file,
            field="output.mode",
            condition=condition,
        )


def _line(plan: Any) -> Iterator[Any]:
    """From the top of a plan down to the first node with several children or none."""
    yield plan
    if plan.children().size() == 1:
        yield from _line(plan.children().apply(0))


def _groups(plan: Any, ids: set[int], key: str, spec_file: Path) -> set[int]:
    """The attributes below the first aggregation that a column is made of, by their ids."""
    for node in _line(plan):
        if kind(node) not in ("Project", "Aggregate"):
            continue
        aggregates = kind(node) == "Aggregate"
        named = items(node.aggregateExpressions() if aggregates else node.projectList())
        matching = [attribute for attribute in named if attribute.exprId().id() in ids]
        if aggregates and any(_aggregated(attribute) for attribute in matching):
            raise KeyChanges(
                f"{spec_file}: output.keys names '{key}', which is the result of an aggregation: a "
                "changed row would not replace what it was.",
                remedy="Name the groups alone.",
                path=spec_file,
                field="output.keys",
                column=key,
            )
        ids = {
            r.exprId().id() for attribute in matching for r in items(attribute.references().toSeq())
        }
        if aggregates:
            break
    return ids


def _aggregated(expression: Any) -> bool:
    if kind(expression) == "AggregateExpression":
        return True
    return any(_aggregated(child) for child in items(expression.children()))


def _unknown(key: str, columns: list[str], spec_file: Path) -> KeyUnknown:
    near = get_close_matches(key, columns, n=1)
    return KeyUnknown(
        f"{spec_file}: output.keys names '{key}', which is not a column of the result; it has "
        f"{', '.join(columns)}.",
        remedy=f"Did you mean '{near[0]}'?" if near else "Name columns that the transform returns.",
        path=spec_file,
        field="output.keys",
        column=key,
        columns=columns,
    )
