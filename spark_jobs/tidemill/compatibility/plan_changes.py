"""Changes of a transform's plan since its generation was created.

Row by row after Spark's guide, "Recovery Semantics after Changes in a Streaming Query": here
projections, filters and map-like operations; stateful operations in `state_changes`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tidemill.compatibility.change import Change, Judge, not_allowed
from tidemill.compatibility.plan_shape import Column, PlanShape
from tidemill.compatibility.state_changes import state_changes

MIXED = "rows of before were made by the old code"


def plan_changes(
    judge: Judge, was: PlanShape, now: PlanShape, table: Mapping[str, str] | None
) -> list[Change]:
    """Every change of a plan.

    Args:
        judge: Gives the verdicts.
        was: When the generation was born.
        now: Today.
        table: Column -> type of the published table; None where there is none.
    """
    stateful = [*state_changes(judge, was.operators, now.operators)]
    if was.pipeline_class != now.pipeline_class and not not_allowed(stateful):
        means = "by its class it is known how what is published can be computed again"
        classes = str(was.pipeline_class), str(now.pipeline_class)
        stateful.append(judge.not_allowed("transform.class", *classes, means))
    return [
        *stateful,
        *_several(judge, "transform.filter", was.filters, now.filters),
        *_several(judge, "transform.operation", was.others, now.others),
        *_columns(judge, was.columns, now.columns, table),
        *_functions(judge, was.functions, now.functions),
    ]


def _several(judge: Judge, field: str, was: Sequence[str], now: Sequence[str]) -> Iterator[Change]:
    before, after = Counter(was), Counter(now)
    gone, new = [*(before - after).elements()], [*(after - before).elements()]
    if len(gone) == len(new) == 1:
        yield judge.consequences(field, gone[0], new[0], MIXED)
        return
    for one in gone:
        yield judge.consequences(field, one, None, MIXED)
    for one in new:
        yield judge.consequences(field, None, one, MIXED)


def _columns(
    judge: Judge,
    was: Sequence[Column],
    now: Sequence[Column],
    table: Mapping[str, str] | None,
) -> Iterator[Change]:
    before = {column.name: column for column in was}
    after = {column.name: column for column in now}
    bound = {name: column.type for name, column in before.items()} if table is None else table
    for name in [*before, *(n for n in bound if n not in before)]:
        if name in after:
            continue
        field = f"transform.columns.{name}"
        if table is None or name not in bound:
            yield judge.consequences(field, before[name].type, None, MIXED)
        else:
            means = "the published table has it, and rows without it cannot be added"
            yield judge.not_allowed(field, bound[name], None, means)
    for name, column in after.items():
        field = f"transform.columns.{name}"
        if name not in bound:
            means = "rows of before have no value there"
            yield judge.consequences(field, None, column.type, means)
        elif bound[name] != column.type:
            yield _retyped(judge, field, bound[name], column.type, published=table is not None)
        elif name in before and before[name].made_of != column.made_of:
            yield judge.consequences(field, before[name].made_of, column.made_of, MIXED)


def _retyped(judge: Judge, field: str, was: str, now: str, *, published: bool) -> Change:
    if not published:
        return judge.consequences(field, was, now, MIXED)
    means = "the published table has it so, and rows with another type cannot be added"
    instead = "change it back, or give the new meaning a new name beside it"
    return judge.not_allowed(field, was, now, means, instead)


def _functions(judge: Judge, was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Change]:
    for name in sorted({*was, *now}):
        if was.get(name) != now.get(name):
            codes = was.get(name), now.get(name)
            yield judge.consequences(f"transform.functions.{name}", *codes, MIXED)
