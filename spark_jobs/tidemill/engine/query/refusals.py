"""Refuses transforms with values that differ from run to run, or with what Spark forbids.

Published rows equal the transform run once as a batch job over the input. A random number, the
current time, or any rows of many up to a limit have no such equal. Nor have timers of processing
time: in scheduled runs they are all due at the next run, whatever they were set to.
"""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from tidemill.contract.errors import SpecError
from tidemill.engine.query.join_times import refuse_early_drops
from tidemill.engine.query.of_today import GIVE_FORMAT, read_as_of_today
from tidemill.engine.query.pipeline_class import FIRST_COME, below, state_encoding
from tidemill.engine.query.stage_profiles import refuse_own_executors
from tidemill.engine.spark_internals.java_errors import SPARK_ERRORS, converted
from tidemill.engine.spark_internals.plan import items, kind, nodes
from tidemill.engine.spark_internals.plan_outline import outlined
from tidemill.engine.spark_internals.streaming_check import check_streaming
from tidemill.spec.output import OutputMode
from tidemill.toolchain.spark_conf import STATE_ENCODING

# Spark calls these deterministic, because each has one value in a batch; the next run has another.
CLOCKS = frozenset({"CurrentDate", "CurrentTimestamp", "CurrentTime", "LocalTimestamp", "Now"})
# They see the rows of one batch, and how rows come in batches must not decide.
OF_ONE_BATCH = frozenset(
    {
        "CoGroup",
        "Except",
        "FlatMapCoGroupsInArrow",
        "FlatMapCoGroupsInPandas",
        "FlatMapGroupsInArrow",
        "FlatMapGroupsInPandas",
        "MapGroups",
    }
)


class ModeUnsupported(SpecError):
    """Spark does not run such a query in the output mode; carries `mode` and `reason`, Spark's."""


class TriggerEndless(SpecError):
    """The trigger would never be done; carries `expression`, what keeps it going."""


class TransformNotIncremental(SpecError):
    """The transform cannot be computed batch by batch; carries `expression`, what cannot."""


class TransformNotRepeatable(SpecError):
    """The transform would give other rows the next time; carries `expression`, what makes it so."""


def refuse_unrepeatable(
    transformed: DataFrame,
    path: Path,
    mode: OutputMode = OutputMode.APPEND,
    *,
    deterministic: bool = True,
) -> None:
    """Look into what a transform made, before a query starts.

    Args:
        transformed: Its result on a streaming DataFrame.
        deterministic: Whether the spec promises the same rows each time. If it does not, values of
            the clock and chance may be in the rows; whatever depends on how rows come in batches
            is refused all the same.

    Raises:
        TransformNotRepeatable: it uses the clock, randomness or the like, a timer of processing
            time, a limit, a function of the groups of one batch, or an aggregation that depends on
            the order of rows.
    """
    for node in nodes(outlined(transformed)):
        streaming = node.isStreaming()
        if streaming:
            _refuse_node(node, path, mode)
        for expression in below(node.expressions()):
            read = read_as_of_today(expression)
            if read is not None:
                raise TransformNotRepeatable(
                    f"{path}: the transform or an expression of the spec reads {read}: a time "
                    "without a date would get the date of the run.",
                    remedy=GIVE_FORMAT,
                    path=path,
                    field="transform",
                    expression=read,
                )
            first_come = kind(expression) in FIRST_COME
            if not deterministic and not first_come:
                continue
            if _unrepeatable(expression, streaming):
                raise TransformNotRepeatable(
                    f"{path}: the transform or an expression of the spec uses "
                    f"{expression.prettyName()}(), which gives another value the next time.",
                    remedy="Compute it from the row, so that a retry makes the same rows. For a "
                    "load time add statics: {batch: {kind: batch}}; to accept other rows each "
                    "time, set deterministic: false."
                    if not first_come
                    else "Take max_by or min_by, or sort or count at once what is collected.",
                    path=path,
                    field="transform",
                    expression=expression.prettyName(),
                )


def _refuse_node(node: Any, path: Path, mode: OutputMode) -> None:
    # In mode complete a limit cuts the whole result again in each batch.
    if kind(node) == "GlobalLimit" and mode is not OutputMode.COMPLETE:
        raise TransformNotRepeatable(
            f"{path}: the transform takes a limited number of rows, and which ones depends on the "
            "order in which they come.",
            remedy="Filter by what the rows hold, or sort and limit in output.mode complete.",
            path=path,
            field="transform",
            expression="limit",
        )
    if kind(node) in OF_ONE_BATCH:
        raise TransformNotRepeatable(
            f"{path}: the transform uses {kind(node)}, which sees the rows of one batch at a time: "
            "the same rows in other batches would give another result.",
            remedy="Aggregate, or keep state: transformWithState or applyInPandasWithState."
            if kind(node) != "Except"
            else "Join with the static table: how 'left_anti'.",
            path=path,
            field="transform",
            expression=kind(node),
        )
    clock = _clock_of(node)
    if clock is not None:
        raise TransformNotRepeatable(
            f"{path}: the transform keeps state by the clock ({clock}). Between two scheduled runs "
            "every timer comes due, so that each run would fire all of them.",
            remedy="Use event time: timeMode EventTime or GroupStateTimeout.EventTimeTimeout.",
            path=path,
            field="transform",
            expression=clock,
        )


def _clock_of(node: Any) -> str | None:
    """By which clock a node of a user's own state goes, if it goes by that of the machine."""
    if kind(node) in ("TransformWithState", "TransformWithStateInPySpark"):
        mode = kind(node.timeMode()).rstrip("$")
        return "timeMode ProcessingTime" if mode.startswith("ProcessingTime") else None
    if kind(node) in ("FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState"):
        timeout = kind(node.timeout()).rstrip("$")
        return timeout if timeout.startswith("ProcessingTime") else None
    return None


def refuse_endless(rows: DataFrame, path: Path) -> None:
    """Refuse a query that would never have taken all that is available now.

    Spark goes on with batches without input while state may still change by the clock: after each
    of them it asks for another (SPARK-50180).

    Args:
        rows: What the sink would write, with the trigger `availableNow`.

    Raises:
        TriggerEndless: it keeps state by the clock.
    """
    for clock in filter(None, map(_clock_of, nodes(outlined(rows)))):
        raise TriggerEndless(
            f"{path}: the transform keeps state by the clock ({clock}), for which Spark makes one "
            "batch after the other: trigger available_now would never end.",
            remedy=f"Set trigger: once, or run it with `tidemill stream {path.stem}`.",
            path=path,
            field="trigger",
            expression=clock,
        )


def refuse_unsupported(rows: DataFrame, path: Path, mode: OutputMode) -> None:
    """Ask Spark whether it runs a query in an output mode, before the query starts.

    Args:
        rows: What the sink would write; those of a batch are not asked about.

    Raises:
        ModeUnsupported: it does not.
        TransformNotIncremental: it does in no mode, and says so only in the first batch.
        ProfileRefused: the same, of a stage with executors of its own.
        JoinTimeUnwatermarked: it runs it, and loses rows.
    """
    if not rows.isStreaming:
        return
    _refuse_python_aggregates(rows, path)
    refuse_own_executors(rows, path)
    # Spark judges by the session's, which may be of another pipeline.
    rows.sparkSession.conf.set(STATE_ENCODING, state_encoding(rows))
    try:
        check_streaming(rows, mode)
    except SPARK_ERRORS as error:
        reason = " ".join(str(converted(error)).split(";")[0].split())
        raise ModeUnsupported(
            f"{path}: Spark does not run the transform in output.mode {mode}: {reason}",
            remedy="Change output.mode or the transform.",
            path=path,
            field="output.mode",
            mode=str(mode),
            reason=reason,
        ) from error
    refuse_early_drops(rows, path)


def _refuse_python_aggregates(rows: DataFrame, path: Path) -> None:
    for node in nodes(outlined(rows)):
        if not (node.isStreaming() and kind(node) == "Aggregate"):
            continue
        for expression in below(node.expressions()):
            if kind(expression) == "PythonUDAF":
                name = str(expression.name())
                raise TransformNotIncremental(
                    f"{path}: the transform aggregates with {name}, a function in Python, of which "
                    "Spark can keep no state from batch to batch.",
                    remedy="Take Spark's own aggregates, an Aggregator of the JVM's, or keep state "
                    "of your own: transformWithState.",
                    path=path,
                    field="transform",
                    expression=name,
                )


def _unrepeatable(expression: Any, streaming: bool) -> bool:
    """Whether it is the culprit itself, not only something that holds one."""
    if kind(expression) in CLOCKS or (streaming and kind(expression) in FIRST_COME):
        return True
    return not expression.deterministic() and all(
        child.deterministic() for child in items(expression.children())
    )
