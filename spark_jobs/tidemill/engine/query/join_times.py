"""Refuses joins of streams of which Spark drops rows that could still be matched.

Spark computes from the condition up to which time it may drop the rows of a side, and then drops by
the column with the watermark. Where the condition is over another column, it drops too early: in an
inner join and a semi join rows are missing, in an outer join they come out as unmatched
(SPARK-58904).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidemill.contract.errors import SpecError
from tidemill.engine.query.pipeline_class import WATERMARK, keeps_state, metadata
from tidemill.engine.spark_internals.join_state import JoinedOn, dropped_up_to, inexact, joined_on
from tidemill.engine.spark_internals.plan import analysed, items, kind, nodes, optimised
from tidemill.engine.spark_internals.plan_outline import outlined

# Milliseconds. Spark keeps a row one millisecond longer for `<=` than for `<`.
_AT_THE_WATERMARK = -1


class JoinBoundInexact(SpecError):
    """Spark would drop rows of a join somewhat before their match comes.

    Carries `condition`, from which Spark takes how long to keep rows.
    """


class JoinTimeUnwatermarked(SpecError):
    """Spark would drop rows of a join before their match comes.

    Carries `condition`, from which Spark takes how long to keep rows, `columns`, those of it that
    have no watermark, and `dropped_by`, the column by which Spark drops rows.
    """


@dataclass(frozen=True)
class _EarlyDrop:
    """Conditions from which Spark takes a wrong bound, and the columns that make it wrong.

    Attributes:
        by: The column by which Spark drops rows.
        bounded_by: A column of the other side by which `by` could have a right bound, if any.
    """

    conditions: tuple[str, ...]
    columns: tuple[str, ...]
    by: str
    bounded_by: str | None = None

    def error(self, path: Path) -> SpecError:
        """The refusal, with what a person can change."""
        condition = " and ".join(self.conditions)
        bound = (
            f"Add a condition that bounds '{self.by}', such as "
            f"{self.bounded_by} <= {self.by} + INTERVAL 12 HOURS. Or let"
            if self.bounded_by
            else "Let"
        )
        return JoinTimeUnwatermarked(
            f"{path}: the transform joins two streams by {condition}. Spark takes from it how long "
            f"it must keep rows, but drops them by '{self.by}', before their match comes: rows "
            "would be missing, or come out as unmatched.",
            remedy=f"{bound} {' and '.join(self.columns)} be the event_time of its source, with a "
            "watermark. Or, for an inner join, leave event_time.watermark out of the sources: then "
            "Spark keeps all rows.",
            path=path,
            field="transform",
            condition=condition,
            columns=list(self.columns),
            dropped_by=self.by,
        )


@dataclass(frozen=True)
class _Inexact:
    """A condition that Spark computes otherwise for its state, and why."""

    condition: str
    reason: str

    def error(self, path: Path) -> SpecError:
        """The refusal, with what a person can change."""
        return JoinBoundInexact(
            f"{path}: the transform joins two streams by {self.condition}, which {self.reason}. "
            "Spark would drop rows before their match comes: they would be missing, or come out as "
            "unmatched.",
            remedy="Compare seconds with their fractions, as in "
            "CAST(later AS DOUBLE) - CAST(earlier AS DOUBLE) <= 7 * 86400, or add hours as hours: "
            "later <= earlier + make_interval(0, 0, 0, 0, 7 * 24).",
            path=path,
            field="transform",
            condition=self.condition,
        )


def refuse_early_drops(rows: DataFrame, path: Path) -> None:
    """Look for joins whose rows Spark would drop too early.

    Args:
        rows: What the sink would write.

    Raises:
        JoinTimeUnwatermarked: there is one whose condition is over another time.
        JoinBoundInexact: there is one whose condition Spark computes otherwise for its state.
    """
    if not any(map(_joins_streams, nodes(outlined(rows)))):
        return
    session, plan = rows.sparkSession, analysed(rows)
    # Spark decides by the optimised plan, which may lack columns and have more conditions.
    for join in filter(_joins_streams, nodes(optimised(session, plan))):
        for early in _drops_early(session, join):
            raise early.error(path)


def _joins_streams(node: Any) -> bool:
    return kind(node) == "Join" and keeps_state(node)


def _drops_early(session: SparkSession, join: Any) -> Iterator[_EarlyDrop | _Inexact]:
    on = joined_on(session, join)
    if on is None:
        return
    key = _watermarked_key(on)
    for position, sides in enumerate(((join.left(), join.right()), (join.right(), join.left()))):
        bounds = {
            one: bound
            for one in on.others
            if (bound := dropped_up_to(session, one, *sides)) is not None
        }
        early = (
            _by_value(session, bounds, *sides)
            if key is None
            else _by_key(on.keys[position][key], on.keys[1 - position][key], bounds, *sides)
        )
        if early is not None:
            yield early


def _watermarked_key(on: JoinedOn) -> int | None:
    """The first key with a watermark, of the left side if it has one: Spark drops by that."""
    places = (at for keys in on.keys for at, key in enumerate(keys) if WATERMARK in metadata(key))
    return next(places, None)


def _by_key(
    key: Any, opposite: Any, bounds: Mapping[Any, int], side: Any, other: Any
) -> _EarlyDrop | None:
    """Spark drops what has a key before the watermark."""
    if WATERMARK in metadata(opposite) or any(
        bound >= _AT_THE_WATERMARK and not _lacking(one, key, side, other)
        for one, bound in bounds.items()
    ):
        return None
    return _EarlyDrop((f"{_name(key)} = {_name(opposite)}",), (_name(opposite),), _name(key))


def _by_value(
    session: SparkSession, bounds: Iterable[Any], side: Any, other: Any
) -> _EarlyDrop | _Inexact | None:
    """Spark drops by the first column with a watermark, up to the earliest of all bounds."""
    by, bounded_by = (
        next((one for one in items(plan.output()) if WATERMARK in metadata(one)), None)
        for plan in (side, other)
    )
    if by is None:
        return None
    lacking = {one: _lacking(one, by, side, other) for one in bounds}
    over_watermarks = {one: inexact(session, one) for one in bounds if not lacking[one]}
    # Without a bound Spark keeps all. One that is right suffices: Spark takes the earliest.
    if not lacking or None in over_watermarks.values():
        return None
    for one, reason in over_watermarks.items():
        return _Inexact(str(one.sql()), str(reason))
    columns = {_name(column): None for found in lacking.values() for column in found}
    return _EarlyDrop(
        tuple(str(one.sql()) for one in lacking),
        tuple(columns),
        _name(by),
        None if bounded_by is None else _name(bounded_by),
    )


def _lacking(condition: Any, by: Any, side: Any, other: Any) -> list[Any]:
    """Columns for which a bound does not hold: of the side it is right for one column only, of the
    other side for those with a watermark.
    """
    own = {_identity(one) for one in items(side.output())} - {_identity(by)}
    unmarked = {_identity(one) for one in items(other.output()) if WATERMARK not in metadata(one)}
    columns = items(condition.references().toSeq())
    return [one for one in columns if _identity(one) in own | unmarked]


def _identity(column: Any) -> int:
    return int(column.exprId().id())


def _name(column: Any) -> str:
    return str(column.name() if kind(column) in ("AttributeReference", "Alias") else column.sql())
