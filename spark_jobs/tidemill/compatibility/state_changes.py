"""Changes of the operators that keep state.

After Spark's guide, "Changes in stateful operations": the schema of the state must stay. Spark
compares types by position, and no more (Spark 4.2): a group by another column of the same type, or
two sums in another order, go on without a word, and mix. So it is told here what they are made of.
"""

from collections.abc import Iterator, Sequence

from tidemill.compatibility.change import Change, Judge
from tidemill.compatibility.plan_shape import Column, Operator, StateVariable

# Whose state Spark encodes as Avro where all operators are of these, so that it may change.
EVOLVING = frozenset({"TransformWithState", "TransformWithStateInPySpark"})
# Avro reads the one as the other (Avro specification, "Schema Resolution").
WIDER = {
    "int": {"bigint", "float", "double"},
    "bigint": {"float", "double"},
    "float": {"double"},
}
MIXED = "what is kept already was made by the old one, and is not made again"


def state_changes(
    judge: Judge, was: Sequence[Operator], now: Sequence[Operator]
) -> Iterator[Change]:
    """Every change of the operators with state.

    Args:
        judge: Gives the verdicts.
        was: When the generation was born, in the order in which rows pass them.
        now: Today.
    """
    kinds = [one.kind for one in was], [one.kind for one in now]
    if kinds[0] != kinds[1]:
        means = "the state of one operator means nothing to another, or is missing"
        yield judge.not_allowed("transform.operators", *kinds, means)
        return
    evolving = {*kinds[0]} <= EVOLVING
    for number, (before, after) in enumerate(zip(was, now, strict=True)):
        at = f"transform.{before.kind}" + (f"[{number}]" if len(was) > 1 else "")
        yield from _operator(judge, at, before, after, evolving=evolving)


def _operator(
    judge: Judge, at: str, was: Operator, now: Operator, *, evolving: bool
) -> Iterator[Change]:
    keys = [[(key.made_of, key.type) for key in one.keys] for one in (was, now)]
    if keys[0] != keys[1]:
        means = "values of the new keys would mix with those of the old ones in the state"
        yield judge.not_allowed(f"{at}.keys", _shown(was.keys), _shown(now.keys), means)
    yield from _aggregates(judge, f"{at}.aggregates", was, now)
    if was.join_type != now.join_type:
        means = "which rows are kept, and what becomes of those without a match, goes by the type"
        yield judge.not_allowed(f"{at}.type", was.join_type, now.join_type, means)
    if was.condition != now.condition:
        means = "Spark's guide calls it ill-defined: what the old bounds let go finds no match now"
        yield judge.consequences(f"{at}.condition", [*was.condition], [*now.condition], means)
    for side, (before, after) in enumerate(zip(was.sides, now.sides, strict=False)):
        yield from _kept(judge, f"{at}.{('left', 'right')[side]}", before, after)
    yield from _kept(judge, f"{at}.state", was.state, now.state)
    if was.time != now.time:
        means = "timers and timeouts that are set would never come, or come by another clock"
        yield judge.not_allowed(f"{at}.time", was.time, now.time, means)
    if was.variables is not None and now.variables is not None:
        yield from _variables(judge, at, was.variables, now.variables, evolving=evolving)
    if was.function != now.function:
        means = "what it makes of a state that the old code left is for the code to say"
        yield judge.consequences(f"{at}.function", was.function, now.function, means)


def _aggregates(judge: Judge, at: str, was: Operator, now: Operator) -> Iterator[Change]:
    kept = [[(one.function, one.of, one.state) for one in op.aggregates] for op in (was, now)]
    said = [one.made_of for one in was.aggregates], [one.made_of for one in now.aggregates]
    if kept[0] != kept[1]:
        means = "the state of each group holds the old ones, in their order"
        yield judge.not_allowed(at, *said, means)
    elif said[0] != said[1]:
        yield judge.consequences(at, *said, MIXED)


def _kept(judge: Judge, at: str, was: Sequence[Column], now: Sequence[Column]) -> Iterator[Change]:
    """Rows in a state, which Spark reads by the positions of their columns."""
    if [(one.name, one.type) for one in was] != [(one.name, one.type) for one in now]:
        means = "rows are kept there by position, and would be read as others"
        yield judge.not_allowed(at, _typed(was), _typed(now), means)
    elif was != now:
        yield judge.consequences(at, _shown(was), _shown(now), MIXED)


def _variables(
    judge: Judge,
    at: str,
    was: Sequence[StateVariable],
    now: Sequence[StateVariable],
    *,
    evolving: bool,
) -> Iterator[Change]:
    before, after = ({one.name: one for one in some} for some in (was, now))
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        field = f"{at}.variables.{name}"
        said = old and _variable(old), new and _variable(new)
        if not evolving:
            means = "beside other operators with state Spark cannot read it as anything else"
            yield judge.not_allowed(field, *said, means)
        elif old is None:
            yield judge.consequences(field, *said, "it is empty for every key that is known")
        elif new is None:
            yield judge.consequences(field, *said, "what it holds is lost")
        else:
            yield _variable_change(judge, field, old, new)


def _variable_change(judge: Judge, field: str, old: StateVariable, new: StateVariable) -> Change:
    said = _variable(old), _variable(new)
    if (old.kind, old.key, old.ttl) != (new.kind, new.key, new.ttl):
        means = "its kind, its key and whether it is forgotten are part of how it is stored"
        return judge.not_allowed(field, *said, means)
    types = {column.name: column.type for column in old.columns}
    for column in new.columns:
        before = types.get(column.name, column.type)
        if column.type != before and column.type not in WIDER.get(before, ()):
            means = f"Spark cannot read the kept '{column.name}' ({before}) as {column.type}"
            return judge.not_allowed(field, *said, means)
    means = "fields that are new are null in what is kept, and those that are gone are lost"
    return judge.consequences(field, *said, means)


def _shown(columns: Sequence[Column]) -> list[str]:
    return [f"{one.name}: {one.made_of} ({one.type})" for one in columns]


def _typed(columns: Sequence[Column]) -> list[str]:
    return [f"{one.name} {one.type}" for one in columns]


def _variable(one: StateVariable) -> str:
    key = f"{', '.join(_typed(one.key))} -> " if one.key else ""
    return f"{one.kind} {key}{', '.join(_typed(one.columns))}{' with a TTL' if one.ttl else ''}"
