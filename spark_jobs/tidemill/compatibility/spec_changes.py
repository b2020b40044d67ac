"""Changes of a spec since its generation was created, found without a JVM.

Row by row after Spark's guide, "Recovery Semantics after Changes in a Streaming Query", and beyond
it what only this spec has: row rules, partitions, time zone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tidemill.compatibility.binding_rules import (
    FrozenSettings,
    format_changes,
    interval_changes,
    mode_changes,
    source_changes,
)
from tidemill.compatibility.change import Change, Judge
from tidemill.compatibility.creation_snapshot import SpecSnapshot
from tidemill.compatibility.source_changes import parameter_changes
from tidemill.spec.formats.table import FORMATS
from tidemill.spec.output import OutputMode

# They say what a person sees, or how a batch is held; the rows are the same.
OF_SINKS_NO_MATTER = frozenset({"numRows", "truncate", "persist", "table"})


def spec_changes(judge: Judge, was: SpecSnapshot, now: SpecSnapshot) -> list[Change]:
    """Every change of a spec, in the order of its fields.

    Args:
        judge: Gives the verdicts.
        was: When the generation was born.
        now: Today.
    """
    before, after = _bound(was), _bound(now)
    return [
        *interval_changes(judge, before, after),
        *_sources(judge, was, now),
        *_statics(judge, was, now),
        *_settings(judge, was, now),
        *_rules(judge, "row_rules", was.row_rules, now.row_rules),
        *mode_changes(judge, before, after),
        *format_changes(judge, before, after),
        *_writer(judge, was, now),
        *_sink(judge, was, now),
    ]


def _bound(one: SpecSnapshot) -> FrozenSettings:
    return FrozenSettings(
        one.partition_by,
        one.timezone,
        one.format,
        one.mode,
        one.keys,
        one.writes,
        one.null_partition,
    )


def _sources(judge: Judge, was: SpecSnapshot, now: SpecSnapshot) -> Iterator[Change]:
    for name, source in now.sources.items():
        born = was.sources.get(name)
        if born is None:
            # Spark's guide does not allow it; but here every source goes by its name (Spark 4.2).
            means = "it is read from where it begins, and the transform has to take it"
            remedy = "Nothing, if its beginning is not late"
            yield judge.consequences(f"sources.{name}", None, source.kind, means, remedy)
            continue
        identity = (born.kind, born.event_time), (source.kind, source.event_time)
        yield from source_changes(judge, name, *identity)
        yield from _rules(judge, f"sources.{name}.row_rules", born.row_rules, source.row_rules)
        if born.kind == source.kind:
            yield from parameter_changes(judge, name, born, source)
    for name, source in was.sources.items():
        if name not in now.sources:
            means = "what arrives there is not read any more, and its name cannot be used again"
            remedy = "Nothing, if so meant"
            yield judge.consequences(f"sources.{name}", source.kind, None, means, remedy)


def _statics(judge: Judge, was: SpecSnapshot, now: SpecSnapshot) -> Iterator[Change]:
    for name in sorted({*was.statics, *now.statics}):
        before, after = was.statics.get(name), now.statics.get(name)
        if before != after:
            means = "batches of before were joined with what it held then"
            yield judge.consequences(f"statics.{name}", before, after, means)


def _settings(judge: Judge, was: SpecSnapshot, now: SpecSnapshot) -> Iterator[Change]:
    if was.trigger != now.trigger:
        means = "a run takes the same rows, in one batch or in several"
        yield judge.allowed("trigger", was.trigger, now.trigger, means)
    policies = was.watermark_policy, now.watermark_policy
    if policies[0] != policies[1]:
        field = "multipleWatermarkPolicy"
        if judge.keeps_state:
            means = "what is kept is ended by another source's watermark than before"
            yield judge.consequences(field, *policies, means)
        else:
            yield judge.allowed(field, *policies, "no row waits for it where no state is kept")
    wanted = was.shuffle_partitions, now.shuffle_partitions
    if wanted[0] != wanted[1]:
        field = "state.shuffle_partitions"
        if judge.keeps_state:
            means = "the keys of its state are divided by the old number, which it keeps"
            remedy = f"To divide them again: tidemill rebuild {judge.pipeline} --reason TEXT"
            yield judge.consequences(field, *wanted, means, remedy)
        else:
            yield judge.allowed(field, *wanted, "no key is divided by it where no state is kept")


def _rules(
    judge: Judge, field: str, was: Mapping[str, str], now: Mapping[str, str]
) -> Iterator[Change]:
    for name in sorted({*was, *now}):
        before, after = was.get(name), now.get(name)
        if before != after:
            means = (
                "rows of before were judged otherwise, and stay published or rejected as they are"
            )
            yield judge.consequences(f"{field}.{name}", before, after, means)


def _writer(judge: Judge, was: SpecSnapshot, now: SpecSnapshot) -> Iterator[Change]:
    if was.format != now.format:
        return
    for name in sorted({*was.writer, *now.writer}):
        before, after = was.writer.get(name), now.writer.get(name)
        field = (
            "output.maxRecordsPerFile" if name == "maxRecordsPerFile" else f"output.options.{name}"
        )
        if before == after:
            continue
        if FORMATS[now.format].self_describing or name == "maxRecordsPerFile":
            yield judge.allowed(field, before, after, "a reader gets the same rows of either")
        else:
            means = "files of before were written otherwise, and who reads them has to know"
            yield judge.consequences(field, before, after, means)


def _sink(judge: Judge, was: SpecSnapshot, now: SpecSnapshot) -> Iterator[Change]:
    if was.sink is None or now.sink is None:
        return
    before, after = was.sink["kind"], now.sink["kind"]
    if before != after and after == "memory" and now.mode is not OutputMode.COMPLETE:
        means = "a memory sink starts over with each run, and the checkpoint would go with it"
        yield judge.not_allowed("sink.kind", before, after, means)
    elif before != after:
        means = "the new sink sees only what comes from now on"
        yield judge.consequences("sink.kind", before, after, means, "Nothing, if so meant")
    else:
        for name in sorted({*was.sink, *now.sink}):
            yield from _of_sink(judge, name, was.sink.get(name), now.sink.get(name))
    if before == after and was.sink_code != now.sink_code:
        means = (
            "what it does with rows is for the code to say; rows that it had stay where they are"
        )
        codes = _short(was.sink_code), _short(now.sink_code)
        yield judge.consequences("sink.code", *codes, means, "Nothing, if so meant")


def _of_sink(judge: Judge, name: str, was: Any, now: Any) -> Iterator[Change]:
    if was == now:
        return
    if name in OF_SINKS_NO_MATTER:
        yield judge.allowed(f"sink.{name}", was, now, "the rows are the same")
    else:
        means = "the new place sees only what comes from now on"
        yield judge.consequences(f"sink.{name}", was, now, means, "Nothing, if so meant")


def _short(code: str | None) -> str | None:
    return code and code[:12]
