"""Changes of a source's parameters: which rows are read, and in what batches.

Row by row after Spark's guide, "Changes in the parameters of input sources". The fields are those
of the spec's sources, of whatever kind.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tidemill.compatibility.change import Change, Judge
from tidemill.compatibility.creation_snapshot import SourcePrint
from tidemill.contract.syntax.java_regex import as_python

LIMITS = frozenset(
    {
        "latestFirst",
        "maxBytesPerTrigger",
        "maxFilesPerTrigger",
        "maxOffsetsPerTrigger",
        "maxRecordsPerPartition",
        "maxTriggerDelay",
        "minOffsetsPerTrigger",
        "minPartitions",
        "numPartitions",
    }
)
BEGINNINGS = frozenset(
    {
        "startingOffsets",
        "startingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "startingTimestamp",
    }
)
UPKEEP = frozenset({"cleanSource", "sourceArchiveDir"})
TOPICS = ("subscribe", "subscribePattern", "assign")
Fields = Mapping[str, Any]


def parameter_changes(
    judge: Judge, name: str, was: SourcePrint, now: SourcePrint
) -> Iterator[Change]:
    """The fields of a source that is still of its kind.

    Args:
        judge: Gives the verdicts.
        was: When the generation was born.
        now: Today.
    """
    yield from _topics(judge, f"sources.{name}", was.fields, now.fields)
    for field in sorted({*was.fields, *now.fields} - {*TOPICS}):
        before, after = was.fields.get(field), now.fields.get(field)
        if before != after:
            at = f"sources.{name}.{field}"
            yield _parameter(judge, at, field, before, after, now.fields)
    yield from _watermark(judge, f"sources.{name}.event_time.watermark", was, now)


def _without_clean(fetch: Any) -> dict[str, Any]:
    return {name: value for name, value in (fetch or {}).items() if name != "clean"}


def _parameter(judge: Judge, at: str, field: str, was: Any, now: Any, fields: Fields) -> Change:
    if field in LIMITS:
        means = "batches are cut otherwise, and every row comes all the same"
        return judge.allowed(at, was, now, means)
    if field in BEGINNINGS:
        return judge.allowed(at, was, now, "only a first start asks where to begin")
    if field in UPKEEP:
        return judge.allowed(at, was, now, "it is about files whose rows are published")
    if field == "fetch" and _without_clean(was) == _without_clean(now):
        return judge.allowed(at, was, now, "it is about objects whose rows are published")
    if field == "fetch":
        means = "what was copied is not copied again, by its key below the URL"
        return judge.consequences(at, was, now, means)
    if field == "path" and not fields.get("fileNameOnly"):
        means = (
            "Spark knows files by their paths: whatever is in the new place it would read, also "
            "what it has read in the old one"
        )
        instead = "change it back, or give what is in the new place a source of a new name"
        return judge.not_allowed(at, was, now, means, instead)
    if field == "data_source":
        means = "what the checkpoint knows of the source are the offsets of another class"
        instead = "change it back, or give the new class a source of a new name"
        return judge.not_allowed(at, was, now, means, instead)
    if field == "pipeline":
        means = "what the checkpoint knows of the source are versions of another table"
        instead = "change it back, or give the other table a source of a new name"
        return judge.not_allowed(at, was, now, means, instead)
    if field == "conn_id":
        means = "offsets mean the same only on the same brokers; the doctor compares topics' ids"
        return judge.consequences(at, was, now, means)
    means = "what was not read yet is read so from now on; what was read stays as it is"
    return judge.consequences(at, was, now, means)


def _topics(judge: Judge, at: str, was: Fields, now: Fields) -> Iterator[Change]:
    before = {way: was[way] for way in TOPICS if way in was}
    after = {way: now[way] for way in TOPICS if way in now}
    if before == after:
        return
    gone = _gone(before, after)
    if gone:
        means = (
            f"{', '.join(gone)} would be gone from the query, and the checkpoint holds offsets of "
            "it, for which Spark would look"
        )
        yield judge.not_allowed(f"{at}.{next(iter(after))}", before, after, means)
        return
    means = "a topic or partition that is new is read from its beginning"
    yield judge.consequences(
        f"{at}.{next(iter(after))}", before, after, means, "Nothing, if so meant"
    )


def _gone(was: Fields, now: Fields) -> list[str]:
    """The topics that were read by name and would be dropped; the doctor checks patterns."""
    named = [*was.get("subscribe", ()), *was.get("assign", {})]
    if "subscribePattern" in now:
        pattern = re.compile(str(as_python(now["subscribePattern"])))
        return [topic for topic in named if not pattern.search(topic)]
    kept = [*now.get("subscribe", ()), *now.get("assign", {})]
    gone = [topic for topic in named if topic not in kept]
    for topic, partitions in was.get("assign", {}).items():
        assigned = now.get("assign", {}).get(topic)
        if assigned is not None:
            gone += [f"{topic}/{one}" for one in partitions if one not in assigned]
    return gone


def _watermark(judge: Judge, at: str, was: SourcePrint, now: SourcePrint) -> Iterator[Change]:
    if was.watermark == now.watermark:
        return
    before, after = _duration(was.watermark), _duration(now.watermark)
    if not judge.keeps_state:
        yield judge.allowed(at, before, after, "no row waits for it where no state is kept")
    elif was.watermark is None or now.watermark is None:
        means = "what is kept would be ended by another rule than it was begun with, or never"
        yield judge.not_allowed(at, before, after, means)
    else:
        means = (
            "windows, joins and timers end by the new one; what was closed, or passed over as "
            "late, stays so, and the watermark that was reached never goes back"
        )
        yield judge.consequences(at, before, after, means)


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:g} seconds"
