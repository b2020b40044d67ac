"""The ten pipelines of a campaign: two of each class, all with the same input and one group."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.pipelines.user_project import write_pipeline

Event = dict[str, Any]
Rows = Counter[tuple[Any, ...]]
# The events of one input file.
File = Sequence[Event]

BEGIN = datetime(2026, 3, 1)  # noqa: DTZ001 - written with its zone
MINUTES = (0, 2, 4, 20, 22, 40)
DELAY = timedelta(minutes=15)
GAP = timedelta(minutes=5)
SPAN = timedelta(minutes=10)
INPUT = "CAMPAIGN_INPUT"
WATERMARK = {"column": "at", "watermark": "15 minutes"}
SCHEMA = "id string, at timestamp, action string, quantity int, again boolean"
# Spark gives a broker up sooner than within minutes.
IMPATIENT = {
    "fetchOffset.numRetries": 1,
    "fetchOffset.retryIntervalMs": 100,
    "kafkaConsumer.pollTimeoutMs": 30000,
    "kafka.default.api.timeout.ms": 30000,
    "kafka.request.timeout.ms": 20000,
}
SUITE: dict[str, Any] = {
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {
            "type": "expect_column_values_to_not_be_null",
            "kwargs": {"column": "action"},
            "meta": {},
            "severity": "critical",
        }
    ],
}


@dataclass(frozen=True)
class CampaignPipeline:
    """A pipeline, and its transform once more in plain Python.

    Args:
        mode: What it stands for: append, update, complete, window or ordered.
        columns: Those that are compared.
        transform: The body of `transform(events)`.
        expected: The rows that the transform gives for some files.
        spec: Further fields of its spec.
        judged: Whether it has a suite.
    """

    name: str
    mode: str
    columns: tuple[str, ...]
    transform: str
    expected: Callable[[Sequence[File]], Rows]
    spec: dict[str, Any] = field(default_factory=dict)
    judged: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """The kinds of its targets."""
        return tuple(one["kind"] for one in self.spec.get("publish", [{"kind": "delta"}]))

    @property
    def reads_kafka(self) -> bool:
        """Whether its input is a topic, and not the folder."""
        return "sources" in self.spec

    def write(self, project: Path) -> None:
        """Write the pipeline's files."""
        spec = {
            "group": "campaign",
            "schedule": "@daily",
            "env": {INPUT: None},
            "timezone": "UTC",
            "sources": {
                "events": {
                    "kind": "file",
                    "format": "json",
                    "path": f"${{{INPUT}}}",
                    "schema": SCHEMA,
                    "maxFilesPerTrigger": 1,
                }
            },
            "event_time": {"column": "at"},
            "row_rules": {"action_known": "action IS NOT NULL"},
            "state": {"shuffle_partitions": 1},
            "gate": {"rejected": {"hold_above": 0.9}, **({} if self.judged else {"suite": "none"})},
            **self.spec,
        }
        code = "\n".join(
            (
                "from pyspark.sql import functions as F",
                "",
                "def transform(events):",
                *(f"    {line}" for line in self.transform.strip().splitlines()),
                "",
            )
        )
        write_pipeline(project, self.name, spec, transform=code, suite=SUITE)


def events_of(number: int) -> list[Event]:
    """The events of an input file: an hour of them, one without an action, and copies of older."""
    found = [_event(number, minute) for minute in MINUTES]
    found.append({**_event(number, 0), "id": f"{number}-none", "action": None})
    if number:
        found += [{**_event(number - 1, minute), "again": True} for minute in (22, 40)]
    return found


def _event(number: int, minute: int) -> Event:
    at = BEGIN + timedelta(hours=number, minutes=minute)
    return {
        "id": f"{number}-{minute}",
        "at": at.isoformat() + "Z",
        "action": "open" if (number + minute // 2) % 3 else "close",
        "quantity": number + minute,
        "again": False,
    }


def deliver(folder: Path, number: int) -> Path:
    """Put an input file in place whole, with a time after those of the files before it."""
    draft = folder.parent / f"{number:04d}.json"
    draft.write_text("".join(json.dumps(event) + "\n" for event in events_of(number)))
    newest = max((path.stat().st_mtime_ns for path in folder.iterdir()), default=0)
    later = max(draft.stat().st_mtime_ns, newest + 2_000_000)
    os.utime(draft, ns=(later, later))
    return draft.replace(folder / draft.name)


def delivered(folder: Path) -> list[list[Event]]:
    """The files of the input, in the order of arrival, as Python reads them."""
    return [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(folder.iterdir())
    ]


def rejected_ids(files: Sequence[File]) -> Counter[str]:
    """The ids of the events that no pipeline takes."""
    return Counter(one["id"] for file in files for one in file if one["action"] is None)


def _good(files: Sequence[File], *, again: bool = False) -> list[Event]:
    return [one for file in files for one in file if one["action"] and (again or not one["again"])]


def _time(event: Event) -> datetime:
    return datetime.fromisoformat(event["at"].removesuffix("Z"))


def clock(time: datetime) -> str:
    """A time as it is compared."""
    return time.strftime("%Y-%m-%d %H:%M")


def _rows(files: Sequence[File]) -> Rows:
    return Counter((one["id"], one["action"], 2 * one["quantity"]) for one in _good(files))


def _distinct(files: Sequence[File]) -> Rows:
    return Counter(
        {(one["id"], one["action"], one["quantity"]): 1 for one in _good(files, again=True)}
    )


def _by_hour(files: Sequence[File]) -> Rows:
    counts, sums = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in _good(files, again=True):
        key = one["action"], clock(_time(one).replace(minute=0))
        counts[key] += 1
        sums[key] += one["quantity"]
    return Counter({(*key, counts[key], sums[key]): 1 for key in counts})


def _totals(files: Sequence[File]) -> Rows:
    counts, sums = Counter[str](), Counter[str]()
    for one in _good(files, again=True):
        counts[one["action"]] += 1
        sums[one["action"]] += one["quantity"]
    return Counter({(key, counts[key], sums[key]): 1 for key in counts})


def _watermark(files: Sequence[File]) -> datetime:
    return max((_time(one) for file in files for one in file), default=BEGIN) - DELAY


def _windows(files: Sequence[File]) -> Rows:
    counts = Counter[tuple[str, datetime]]()
    for one in _good(files):
        at = _time(one)
        counts[one["action"], at - timedelta(minutes=at.minute % 10)] += 1
    closed = _watermark(files)
    return Counter(
        {
            (action, clock(start), count): 1
            for (action, start), count in counts.items()
            if start + SPAN <= closed
        }
    )


def _sessions(files: Sequence[File]) -> Rows:
    times: dict[str, list[datetime]] = {}
    for one in _good(files):
        times.setdefault(one["action"], []).append(_time(one))
    found: Rows = Counter()
    for action, every in times.items():
        session: list[datetime] = []
        for at in [*sorted(every), BEGIN + timedelta(days=999)]:
            if session and at >= session[-1] + GAP:
                if session[-1] + GAP <= _watermark(files):
                    found[action, clock(session[0]), len(session)] += 1
                session = []
            session.append(at)
    return found


BY_DAY = {"output": {"partition_by": {"day": "to_date(at)"}}}
BY_START = {"output": {"partition_by": {"day": "to_date(start)"}}, "event_time": WATERMARK}
APPEND = """
first = events.where("action IS NULL OR NOT again")
return first.withColumn("twice", F.col("quantity") * 2)
"""
UPDATE = """
counts = events.groupBy("action", F.window("at", "1 hour").alias("hour"))
counts = counts.agg(F.count("*").alias("events"), F.sum("quantity").alias("total"))
return counts.withColumn("hour", F.col("hour.start"))
"""
COMPLETE = """
counts = events.groupBy("action")
return counts.agg(F.count("*").alias("events"), F.sum("quantity").alias("total"))
"""
WINDOW = """
first = events.where("action IS NULL OR NOT again")
counts = first.groupBy("action", F.window("at", "10 minutes").alias("span")).count()
return counts.select("action", F.col("span.start").alias("start"), "count")
"""
SESSIONS = """
first = events.where("action IS NULL OR NOT again")
counts = first.groupBy("action", F.session_window("at", "5 minutes").alias("span")).count()
return counts.select("action", F.col("span.start").alias("start"), "count")
"""
DISTINCT = 'return events.dropDuplicates(["id", "at"])'
ROW = ("id", "action", "twice")
HOURS = ("action", "hour", "events", "total")
TOTALS = ("action", "events", "total")
SPANS = ("action", "start", "count")
KEPT = {"output": {"mode": "update", "keys": ["action", "hour"]}}
WHOLE = {"output": {"mode": "complete"}}
DELTA = {"kind": "delta"}
FILES = {"publish": [DELTA, {"kind": "files"}]}


def _database(table: str) -> dict[str, Any]:
    return {"publish": [DELTA, {"kind": "postgres", "conn_id": "warehouse", "table": table}]}


def _topic(name: str) -> dict[str, Any]:
    source = {
        "kind": "kafka",
        "subscribe": name,
        "value": {"format": "json", "schema": SCHEMA},
        "maxOffsetsPerTrigger": 9,
        "commit_to_group": "campaign",
        "options": IMPATIENT,
    }
    return {"sources": {"events": source}}


def pipelines(*, database: bool, topic: str | None = None) -> tuple[CampaignPipeline, ...]:
    """The ten.

    Args:
        database: Whether two of them publish to PostgreSQL too, by the connection `warehouse`.
        topic: What one of them reads instead of the folder, by the connection `tidemill_kafka`.
    """
    kafka = {} if topic is None else _topic(topic)
    rows, counts = (_database("append_a"), _database("update_a")) if database else ({}, {})
    dedup = {**BY_DAY, "event_time": {"column": "at", "watermark": "3 hours"}}
    kept = ("id", "action", "quantity")
    return (
        CampaignPipeline("append_a", "append", ROW, APPEND, _rows, {**BY_DAY, **rows}, True),
        CampaignPipeline("append_b", "append", ROW, APPEND, _rows, {**BY_DAY, **FILES, **kafka}),
        CampaignPipeline("update_a", "update", HOURS, UPDATE, _by_hour, {**KEPT, **counts}, True),
        CampaignPipeline("update_b", "update", HOURS, UPDATE, _by_hour, KEPT),
        CampaignPipeline("complete_a", "complete", TOTALS, COMPLETE, _totals, WHOLE, True),
        CampaignPipeline("complete_b", "complete", TOTALS, COMPLETE, _totals, WHOLE),
        CampaignPipeline("window_a", "window", SPANS, WINDOW, _windows, BY_START, True),
        CampaignPipeline("window_b", "window", SPANS, WINDOW, _windows, BY_START),
        CampaignPipeline("ordered_a", "ordered", SPANS, SESSIONS, _sessions, BY_START, True),
        CampaignPipeline("ordered_b", "ordered", kept, DISTINCT, _distinct, dedup),
    )
