"""The triggers of a query that runs until it is stopped, and what Spark 4.2 combines them with.

The reasons are Spark's own, as its analyser or its query gives them (Structured Streaming guide,
"Triggers", "Continuous Processing" and "Real-Time Mode"; each was met by trying it).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from tidemill.contract.errors import UsageError
from tidemill.contract.syntax.quantities import (
    as_interval,
    as_time_string,
    parse_duration,
)
from tidemill.spec.output import OutputMode

if TYPE_CHECKING:
    from tidemill.spec.spec import Spec

# `spark.sql.streaming.realTimeMode.minBatchDuration`.
WAITS_FOR_ROWS = "a Python function decodes it, which Spark gives thousands of rows at a time"
SHORTEST_REAL_TIME = timedelta(seconds=5)


class TriggerUnknown(UsageError):
    """The text names no trigger; carries `given`."""


class TriggerUnsupported(UsageError):
    """Spark does not run such a pipeline with this trigger; carries `trigger`, `at`, `reason`."""


class TriggerKind(StrEnum):
    """Spark's triggers, as they are written on a command line."""

    DEFAULT = "default"
    PROCESSING_TIME = "processing-time"
    AVAILABLE_NOW = "available-now"
    ONCE = "once"
    CONTINUOUS = "continuous"
    REAL_TIME = "real-time"


# Spark's keyword of `DataStreamWriter.trigger`, and whether it takes an interval.
KEYWORDS = {
    TriggerKind.PROCESSING_TIME: ("processingTime", True),
    TriggerKind.AVAILABLE_NOW: ("availableNow", False),
    TriggerKind.ONCE: ("once", False),
    TriggerKind.CONTINUOUS: ("continuous", True),
    TriggerKind.REAL_TIME: ("realTime", True),
}


@dataclass(frozen=True)
class StreamTrigger:
    """The trigger of a stream.

    Args:
        kind: Spark's name of the source.
        interval: Between batches, between checkpoints (continuous), or of a batch (real time).
    """

    kind: TriggerKind = TriggerKind.DEFAULT
    interval: timedelta | None = None

    def __str__(self) -> str:
        if self.interval is None:
            return str(self.kind)
        return f"{self.kind}={as_time_string(self.interval)}"

    @property
    def arguments(self) -> dict[str, str | bool]:
        """The arguments of `DataStreamWriter.trigger`; none for Spark's default."""
        if self.kind is TriggerKind.DEFAULT:
            return {}
        keyword, _ = KEYWORDS[self.kind]
        if self.interval is None:
            return {keyword: True}
        return {keyword: as_interval(self.interval)}

    @property
    def continuous(self) -> bool:
        return self.kind is TriggerKind.CONTINUOUS

    @property
    def ends(self) -> bool:
        """Whether the query ends by itself."""
        return self.kind in (TriggerKind.AVAILABLE_NOW, TriggerKind.ONCE)

    @property
    def by_batch(self) -> bool:
        """Whether it runs in short batches, between which it can be stopped."""
        return self.kind not in (TriggerKind.CONTINUOUS, TriggerKind.REAL_TIME)


def parse_trigger(text: str) -> StreamTrigger:
    """`"processing-time=10s"` -> the trigger.

    Raises:
        TriggerUnknown: no such trigger, or its interval is missing, too much or no duration.
    """
    name, equals, interval = text.strip().replace("_", "-").partition("=")
    try:
        kind = TriggerKind(name)
    except ValueError as error:
        raise _unknown(text, "is not a trigger") from error
    wants = KEYWORDS.get(kind, ("", False))[1]
    if bool(equals) != wants:
        raise _unknown(text, "needs an interval" if wants else "takes no interval")
    if not wants:
        return StreamTrigger(kind)
    try:
        length = parse_duration(interval)
    except ValueError as error:
        raise _unknown(text, f"has no interval: {error}") from error
    if length <= timedelta(0):
        raise _unknown(text, "has an interval of nothing")
    return StreamTrigger(kind, length)


def _unknown(text: str, why: str) -> TriggerUnknown:
    return TriggerUnknown(
        f"--trigger '{text}' {why}.",
        remedy="Give one of default, processing-time=10s, available-now, once, continuous=1s, "
        "real-time=5m.",
        given=text,
    )


def refuse_unsupported(trigger: StreamTrigger, spec: Spec) -> None:
    """Hold a trigger against what it would run.

    Raises:
        TriggerUnsupported: Spark refuses the combination, or would ignore a part of it; or nothing
            would copy what arrives while it runs.
    """
    reasons = {
        TriggerKind.ONCE: _against_once,
        TriggerKind.CONTINUOUS: _against_continuous,
        TriggerKind.REAL_TIME: _against_real_time,
    }
    find = reasons.get(trigger.kind)
    for at, reason in find(trigger, spec) if find else ():
        raise _unsupported(trigger, at, reason, "Use --trigger default or processing-time=10s.")
    if trigger.kind in (TriggerKind.AVAILABLE_NOW, TriggerKind.ONCE):
        return
    for name in spec.batch_statics:
        reason = "its one row would be of the start of the stream, however long that runs"
        raise _unsupported(trigger, f"statics.{name}", reason, "Use --trigger available-now.")
    for name, source in spec.sources.items():
        if source.copied:
            at, reason = f"sources.{name}.fetch", "objects are copied only before a query starts"
            raise _unsupported(trigger, at, reason, "Use --trigger available-now.")


def _unsupported(trigger: StreamTrigger, at: str, reason: str, remedy: str) -> TriggerUnsupported:
    return TriggerUnsupported(
        f"{at} cannot run with the trigger {trigger}: {reason}.",
        remedy=remedy,
        trigger=str(trigger),
        at=at,
        reason=reason,
    )


def _against_once(_trigger: StreamTrigger, spec: Spec) -> Iterator[tuple[str, str]]:
    for name, source in spec.sources.items():
        for limit in source.rate_limits:
            yield f"sources.{name}.{limit}", "once takes everything in one batch and ignores it"


def _against_continuous(_trigger: StreamTrigger, spec: Spec) -> Iterator[tuple[str, str]]:
    batches = "'foreachBatch' is not supported with continuous trigger"
    if spec.sink is None:
        append = spec.output.mode is OutputMode.APPEND
        reason = "Unknown type of trigger: ContinuousTrigger, for files are not a continuous sink"
        yield "publish", reason if append else batches
    elif spec.sink.kind == "foreach_batch":
        yield "sink", batches
    elif spec.sink.kind == "foreach":
        # PythonForeachWriter starts its thread again with each epoch.
        yield "sink", "a writer in Python ends with IllegalThreadStateException at the second epoch"
    if len(spec.sources) > 1:
        yield "sources", "Continuous processing does not support Union operations"
    if spec.statics:
        yield "statics", "Continuous processing does not support Join operations"
    for name, source in spec.sources.items():
        if source.NOT_CONTINUOUS is not None:
            yield f"sources.{name}", source.NOT_CONTINUOUS
        if source.decoded_by_python:
            yield f"sources.{name}.value.format", WAITS_FOR_ROWS
        time = spec.event_time_of(name)
        if time is not None and time.watermark is not None:
            reason = "Continuous processing does not support EventTimeWatermark operations"
            yield "event_time.watermark", reason
    if spec.output.mode is OutputMode.COMPLETE:
        yield "output.mode", "Continuous processing does not support Aggregate operations"


def _against_real_time(trigger: StreamTrigger, spec: Spec) -> Iterator[tuple[str, str]]:
    if trigger.interval is not None and trigger.interval < SHORTEST_REAL_TIME:
        seconds = int(SHORTEST_REAL_TIME.total_seconds())
        yield "--trigger", f"real time has batches of at least {seconds} seconds"
    kind = None if spec.sink is None else spec.sink.kind
    if kind not in ("kafka", "console", "foreach"):
        at = "publish" if kind is None else "sink"
        yield at, "the sink is not in the sink allowlist for Real-Time Mode"
    for name, source in spec.sources.items():
        if not source.REAL_TIME:
            reason = f"the input stream of {source.kind} is not supported in Real-time Mode"
            yield f"sources.{name}", reason
        if source.decoded_by_python:
            yield f"sources.{name}.value.format", WAITS_FOR_ROWS
    if spec.output.mode is not OutputMode.UPDATE:
        reason = f"the output mode {spec.output.mode} is not supported; set it to update"
        yield "output.mode", reason
