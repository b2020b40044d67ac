"""Settings that are frozen for a generation: a change would move or mix rows it already has.

The generation's note and its record of sources know them without any fingerprint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidemill.compatibility.change import Change, Judge
from tidemill.ledger.generation_note import GenerationNote, Writes, keys_of, writes_of
from tidemill.spec.output import NullPartition, OutputMode
from tidemill.spec.spec import Spec

MOVED = "rows of the same time would be in two partitions, and no interval could be computed again"
NULL_MOVED = (
    "the null partition holds rejected rows under one of them and good ones under the other"
)
BEHIND_THE_GATE = (
    "leave the sink away and publish to it, as in publish: [{kind: delta}, {kind: kafka, topic: …}]"
)


@dataclass(frozen=True)
class FrozenSettings:
    """The settings that a generation is bound to.

    Args:
        partition_by: Column and expression, in the order of directories.
        null_partition: What becomes of rows whose partition value is null.
        keys: By which rows replace each other.
        writes: What its batches leave.
    """

    partition_by: tuple[tuple[str, str], ...]
    timezone: str
    format: str
    mode: OutputMode
    keys: tuple[str, ...]
    writes: Writes
    null_partition: NullPartition = "reject"


def judge_of(note: GenerationNote, pipeline: str) -> Judge:
    """Who gives the verdicts on a generation."""
    return Judge(pipeline, note.pipeline_class, published=note.writes != "nothing")


def bound_by(note: GenerationNote) -> FrozenSettings:
    """As the note has it."""
    return FrozenSettings(
        partition_by=tuple(note.partition_by.items()),
        timezone=note.timezone,
        format=note.format,
        mode=note.mode,
        keys=note.keys,
        writes=note.writes,
        null_partition=note.null_partition,
    )


def bound_today(spec: Spec) -> FrozenSettings:
    """As the spec has it."""
    return FrozenSettings(
        partition_by=tuple(spec.output.partition_by.items()),
        timezone=spec.timezone,
        format=spec.output.format,
        mode=spec.output.mode,
        keys=keys_of(spec),
        writes=writes_of(spec),
        null_partition=spec.output.null_partition,
    )


def interval_changes(judge: Judge, was: FrozenSettings, now: FrozenSettings) -> list[Change]:
    """Partitions and time zone: design section 6."""
    found = []
    if was.partition_by != now.partition_by:
        field = "output.partition_by"
        found.append(judge.not_allowed(field, _said(was), _said(now), MOVED))
    if was.null_partition != now.null_partition:
        field, values = "output.null_partition", (was.null_partition, now.null_partition)
        found.append(judge.not_allowed(field, *values, NULL_MOVED))
    if was.timezone != now.timezone:
        found.append(judge.not_allowed("timezone", was.timezone, now.timezone, MOVED))
    return found


def format_changes(judge: Judge, was: FrozenSettings, now: FrozenSettings) -> list[Change]:
    """The format of files, which cannot change within a table or a list of files."""
    if was.format == now.format:
        return []
    means = "readers of what is published expect files of one format"
    return [judge.not_allowed("output.format", was.format, now.format, means)]


def mode_changes(judge: Judge, was: FrozenSettings, now: FrozenSettings) -> list[Change]:
    """Mode, keys, and whether files are written at all."""
    found = []
    if was.mode != now.mode:
        means = "a batch means new rows, changed rows or the whole result, and state is kept so"
        found.append(judge.not_allowed("output.mode", str(was.mode), str(now.mode), means))
    if was.keys != now.keys:
        means = "rows that are published were replaced by the old keys"
        found.append(judge.not_allowed("output.keys", list(was.keys), list(now.keys), means))
    if "nothing" in (was.writes, now.writes) and was.writes != now.writes:
        found.append(_sink_change(judge, to_files=was.writes == "nothing"))
    return found


def source_changes(
    judge: Judge,
    name: str,
    was: tuple[str, str | None],
    now: tuple[str, str | None],
) -> list[Change]:
    """Kind and event time of a source.

    Args:
        judge: Gives the verdicts.
        was: Both, when it was first read.
        now: Both, today.
    """
    found = []
    instead = "change it back, or give the new source a new name"
    if was[0] != now[0]:
        means = "what the checkpoint knows of it is of another kind of source"
        found.append(judge.not_allowed(f"sources.{name}.kind", was[0], now[0], means, instead))
    if was[1] != now[1]:
        field = f"sources.{name}.event_time"
        means = "rows would move to other intervals, and late ones would be others"
        found.append(judge.not_allowed(field, was[1], now[1], means, instead))
    return found


def returned(judge: Judge, name: str) -> Change:
    """A source that was dropped and is back under its old name."""
    return judge.not_allowed(
        f"sources.{name}",
        None,
        "back",
        "Spark would read all of it again",
        "give it a new name, and let it begin after what was read",
    )


def sentences(changes: Sequence[Change]) -> str:
    """Several changes in one sentence."""
    return "; ".join(change.sentence for change in changes)


def _sink_change(judge: Judge, *, to_files: bool) -> Change:
    if to_files:
        means = "a file sink has to hold every batch of its checkpoint, and has none of them"
        return judge.not_allowed("sink", "one of Spark's own", "files", means)
    means = (
        "the new sink would see new rows only, past the gate, and what is published would stay "
        "as it is"
    )
    return judge.not_allowed("sink", "files", "one of Spark's own", means, BEHIND_THE_GATE)


def _said(bound: FrozenSettings) -> list[Any]:
    return [f"{column}: {expression}" for column, expression in bound.partition_by]
