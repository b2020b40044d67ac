"""Checks across the parts of a spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidemill.spec.model import Disagreement, doubled_in, nearest
from tidemill.spec.output import OutputMode
from tidemill.spec.settings import Trigger
from tidemill.spec.sinks import ForeachBatchSink, ForeachSink
from tidemill.spec.sources.base import BaseSource
from tidemill.spec.sources.kafka import KafkaSource

if TYPE_CHECKING:
    from tidemill.spec.spec import Spec

# What Spark keeps a watermark on; a struct may be a window.
_TIMES = ("timestamp", "timestamp_ntz", "struct")


def refuse_disagreement(spec: Spec) -> None:
    """Hold the parts of a spec against each other.

    Raises:
        Disagreement: two of them exclude each other; it names the one to change.
    """
    for name, source in spec.sources.items():
        _columns_agree(spec, name, source)
        _trigger_agrees(spec, name, source)
        if spec.published and not source.replayable:
            msg = (
                f"source '{name}' ({source.kind}) cannot be replayed, so that nothing it gives "
                "may be published; give the pipeline a sink, such as {kind: console}"
            )
            raise Disagreement(msg, "sources", name)
        for option in source.lossy_options if spec.published else ():
            msg = (
                f"'{option}' lets Spark leave rows out without a word; nothing so read is published"
            )
            raise Disagreement(msg, "sources", name, "options", option)
    for name in spec.statics:
        if name in spec.sources:
            msg = f"'{name}' is a source already; the transform takes both by their names"
            raise Disagreement(msg, "statics", name)
    _transform_agrees(spec)
    _budget_agrees(spec)
    if spec.published:
        _publish_agrees(spec)
    else:
        _sink_agrees(spec)
    if spec.wake is not None:
        spec.wake.agree(spec)


def _columns_agree(spec: Spec, name: str, source: BaseSource) -> None:
    time = spec.event_time_of(name)
    if time is not None and time.column not in source.columns:
        msg = (
            f"'{time.column}' is not in the schema of source '{name}'; "
            f"{nearest(time.column, source.columns)}"
        )
        raise Disagreement(msg, *_place_of_event_time(spec, name))
    if time is not None and time.watermark is not None:
        kind = source.type_of(time.column)
        if kind is not None and kind not in _TIMES:
            msg = (
                f"'{time.column}' is {kind} in the schema of source '{name}', "
                "and Spark keeps a watermark on a timestamp only; declare it as timestamp, with "
                "options.timestampFormat where it is written in another way, or leave the "
                "watermark out here and call withWatermark in the transform on the timestamp that "
                "it computes"
            )
            raise Disagreement(msg, *_place_of_event_time(spec, name))
    clash = doubled_in((*source.columns, *spec.output.partition_by))
    if clash:
        msg = f"'{clash}' is a column already; give it another name"
        raise Disagreement(msg, "output", "partition_by")


def _place_of_event_time(spec: Spec, source: str) -> tuple[str, ...]:
    if spec.event_time is None or len(spec.sources) > 1:
        return ("sources", source, "event_time")
    return ("event_time", "column")


def _trigger_agrees(spec: Spec, name: str, source: BaseSource) -> None:
    if spec.trigger is not Trigger.ONCE:
        return
    ignored: list[tuple[str, ...]] = [("sources", name, limit) for limit in source.rate_limits]
    if spec.budget is not None:
        ignored = [("budget",)]
    if ignored:
        msg = f"trigger 'once' ignores {ignored[0][-1]}; remove it or use available_now"
        raise Disagreement(msg, *ignored[0])


def _transform_agrees(spec: Spec) -> None:
    if spec.transform != "none":
        return
    others = [*spec.sources, *spec.statics][1:]
    if others:
        msg = f"'none' publishes the rows of one source as they come, and '{others[0]}' is another"
        raise Disagreement(msg, "transform")
    if isinstance(spec.sink, ForeachSink | ForeachBatchSink):
        msg = f"sink '{spec.sink.kind}' is a function in the transform's file; name the file"
        raise Disagreement(msg, "transform")


def _budget_agrees(spec: Spec) -> None:
    if spec.budget is None or spec.budget.max_bytes is None:
        return
    other = next((n for n, s in spec.sources.items() if not s.LISTS_FILES), None)
    if other is not None:
        kind = spec.sources[other].kind
        msg = f"bytes are counted of files only, and source '{other}' is {kind}; bound the batches"
        raise Disagreement(msg, "budget", "max_bytes")


def _publish_agrees(spec: Spec) -> None:
    names = [target.name for target in spec.publish]
    doubled = doubled_in(names)
    if doubled:
        msg = f"'{doubled}' is there twice"
        raise Disagreement(msg, "publish")
    if "delta" in names[1:]:
        msg = "delta goes first; its head says what consumers see"
        raise Disagreement(msg, "publish")
    output = spec.output
    if not output.rules.for_tables and names != ["files"]:
        msg = f"{output.format} can be published as [{{kind: files}}] only"
        raise Disagreement(msg, "output", "format")
    if output.mode is not OutputMode.APPEND and not output.rules.for_tables:
        msg = f"mode {output.mode} is kept as parquet; remove the format"
        raise Disagreement(msg, "output", "format")
    if output.mode is not OutputMode.APPEND and "files" in names:
        msg = f"mode {output.mode} needs targets that can replace rows, not files"
        raise Disagreement(msg, "publish")
    for place, target in enumerate(spec.publish):
        target.agree(output, "publish", place)
    upserts = any(target.upserts(output.mode) for target in spec.publish)
    if (output.mode is OutputMode.UPDATE or upserts) and not output.keys:
        msg = (
            "name the columns that tell rows apart; a total without groups has none, and is "
            "written by mode complete"
        )
        raise Disagreement(msg, "output", "keys")


def _sink_agrees(spec: Spec) -> None:
    meant = {"publish", "gate", "backfill", "decisions"} & spec.model_fields_set
    if meant:
        msg = f"'{min(meant)}' and 'sink' exclude each other: Spark's sinks have no gate"
        raise Disagreement(msg, min(meant))
    for name, source in spec.sources.items():
        if source.cleans_objects:
            msg = "objects are put away when rows are published; beside 'sink' nothing is"
            raise Disagreement(msg, "sources", name, "fetch", "clean")
    for name, source in spec.sources_of(KafkaSource).items():
        if source.commit_to_group is not None:
            msg = "offsets are committed when rows are published; beside 'sink' nothing is"
            raise Disagreement(msg, "sources", name, "commit_to_group")
    of_files = sorted(spec.output.model_fields_set - {"mode"})
    if of_files:
        msg = "only the mode matters to a sink; the rest is for files and tables"
        raise Disagreement(msg, "output", of_files[0])
