"""Replay: what a stream gave out, batch by batch, comes out of its ledger once more."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline, Row
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.generation_note import hash_of_file, hash_of_spec
from tidemill.ledger.late_rows import LateLog
from tidemill.spark_logs.partition_paths import partition_values
from tidemill.steps.decisions.flush import flush
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRANSFORMS = Path(__file__).parents[3] / "spark_jobs" / "transforms"
SCRATCH = "backfill-0a1b2c3d"
EVENT_TIME = {"column": "at", "watermark": "10 minutes"}
VISITS = """
from pyspark.sql import functions as F


def transform(events):
    return events.groupBy(F.session_window("at", "5 minutes"), "id").agg(
        F.max_by("kind", "at").alias("last"), F.sort_array(F.collect_list("kind")).alias("kinds")
    )
"""
LABELLED = """
from pyspark.sql import functions as F


def transform(events, labels):
    windows = events.join(labels, "id").groupBy(F.window("at", "10 minutes"), "id")
    counted = windows.agg(F.max("label").alias("label"), F.count("*").alias("rows"))
    return counted.select(F.col("window.start").alias("start"), "id", "label", "rows")
"""
# Each run's files with their rows: minute, name, kind; or the minute that a flush goes to.
History = list[dict[str, list[tuple[int, str | None, str]]] | int]
HISTORY: History = [
    {
        "events-1": [(1, "a", "login"), (1, None, "view"), (3, "b", "login_failed")],
        "events-2": [(20, "a", "view"), (10, "b", "login_failed"), (12, "b", "buy"), (9, "a", "x")],
        "events-3": [(3, "late", "view"), (30, "c", "view"), (29, "b", "buy"), (28, "b", "view")],
    },
    {"events-4": [(22, "d", "view"), (5, "late", "view"), (31, "c", "login"), (23, "b", "view")]},
    60,
    {"events-5": [(50, "late", "view"), (61, "a", "buy"), (62, "c", "view")]},
]
# In its second run and its third one source gives nothing: the watermark of both then waits for it,
# which a query that was not started again in between would not do.
MEETINGS: History = [
    {
        "impressions-1": [(1, "a", "x"), (1, None, "x"), (30, "b", "y"), (100, "c", "x")],
        "clicks-1": [(5, "a", ""), (40, "?", "")],
    },
    {"clicks-2": [(80, "b", ""), (20, "late", "")]},
    {"impressions-2": [(35, "d", "x"), (36, "e", "y"), (29, "late", "x")]},
    {
        "impressions-3": [(170, "f", "x"), (60, "g", "y")],
        "clicks-3": [(90, "e", ""), (165, "c", ""), (91, "g", "")],
    },
]
Rows = Counter[str]
Write = Callable[[int, str | None, str], Row]


def written(minute: int, name: str | None, kind: str) -> Row:
    return {"at": as_text(minute), "id": name, "kind": kind}


def acted(minute: int, name: str | None, kind: str) -> Row:
    return {"at": as_text(minute), "user": name, "action": kind}


def advertised(minute: int, name: str | None, kind: str) -> Row:
    return {"at": as_text(minute), "ad": name, "campaign": kind}


def as_text(minute: int) -> str:
    return f"2026-03-01T{12 + minute // 60}:{minute % 60:02d}:00Z"


@dataclass(frozen=True)
class Kind:
    """A pipeline that keeps state of one kind."""

    transform: str
    output: Mapping[str, Any]
    sources: Mapping[str, str]
    row: Write = written
    key: str = "id"

    def flow(self, home: Path) -> JsonPipeline:
        spec = {"event_time": EVENT_TIME, "output": self.output}
        home.mkdir(exist_ok=True)
        rules = {"known": f"{self.key} IS NOT NULL"}
        flow = JsonPipeline(home, self.sources, {**spec, "row_rules": rules}, "")
        own = {source: {"maxFilesPerTrigger": 2} for source in self.sources}
        flow.write(self.transform, sources=own)
        return flow

    def live(self, flow: JsonPipeline, history: History) -> None:
        """Ingest a history, run by run."""
        for number, happens in enumerate(history):
            if isinstance(happens, int):
                to = datetime.fromisoformat(as_text(happens))
                flush(flow.pipeline, to, by="ada", reason="the feed has ended", run_id="flush")
            else:
                for file, rows in happens.items():
                    source, _, _ = file.partition("-")
                    place = source if source in self.sources else next(iter(self.sources))
                    flow.arrive(place, file, [self.row(*row) for row in rows])
            assert flow.step("ingest", f"run-{number}").error is None


def shipped(name: str) -> str:
    return (TRANSFORMS / f"{name}.py").read_text()


EVENTS = {"events": "at timestamp, id string, kind string"}
DEDUPLICATED = Kind(shipped("unique_events"), {"partition_by": {"day": "to_date(at)"}}, EVENTS)
VISITED = Kind(VISITS, {"partition_by": {"day": "to_date(session_window.start)"}}, EVENTS)
SESSIONS = Kind(
    shipped("user_sessions"),
    {"partition_by": {"day": "to_date(since)"}},
    {"actions": "user string, at timestamp, action string"},
    acted,
    "user",
)
CLICKED = {
    "impressions": "ad string, campaign string, at timestamp",
    "clicks": "ad string, at timestamp",
}
BY_DAY = {"partition_by": {"day": "to_date(shown_at)"}}
OUTER = Kind(shipped("ad_clicks"), BY_DAY, CLICKED, advertised, "ad")
INNER = Kind(shipped("ad_clicks_inner"), BY_DAY, CLICKED, advertised, "ad")
UPDATED = Kind(LABELLED, {"mode": "update", "keys": ["start", "id"]}, EVENTS)


def replayed(flow: JsonPipeline, spark: SparkSession, last: int, **more: Any) -> Rows:
    """What a replay of batches up to one leaves."""
    from tidemill.engine.recompute.replay import replay

    pipeline = flow.pipeline
    recomputation = Recomputation(
        kind="backfill",
        generation=FIRST_GENERATION,
        first=0,
        last=last,
        seq=0,
        code_hash=hash_of_file(pipeline.transform_file),
        spec_hash=hash_of_spec(pipeline.spec),
        by="ada",
        reason="the rule was wrong",
        excludes=more.get("excludes", ()),
    )
    place = BatchRange(generation=SCRATCH, first=last, last=last)
    before = settings(spark)
    run = RunContext(pipeline, "replay", lambda _: None)
    replay(spark, run, recomputation, place, more.get("keep", lambda rows: rows))
    assert settings(spark) == before
    assert not flow.layout.checkpoint(SCRATCH).exists()
    sink = flow.layout.sink(SCRATCH)
    return rows_in(flow, sink.rglob("*.parquet"), sink)


def settings(spark: SparkSession) -> dict[str, str]:
    return dict(spark.conf.getAll)


def live(flow: JsonPipeline, last: int) -> Rows:
    """What live batches up to one gave out."""
    sink = flow.layout.sink(FIRST_GENERATION)
    files = (sink / file.path for batch in flow.batches[: last + 1] for file in batch.outputs)
    return rows_in(flow, files, sink)


def rows_in(flow: JsonPipeline, files: Iterable[Path], base: Path) -> Rows:
    """Good and rejected rows with their partitions, wherever the pipeline is."""
    return Counter(
        repr((partition_values(file, base), row)).replace(str(flow.home), "")
        for file in files
        for row in pq.ParquetFile(file).read().to_pylist()
    )


def late(flow: JsonPipeline) -> int:
    return LateLog(flow.layout, FIRST_GENERATION).total()


# In the middle, at the end, or both.
@pytest.mark.parametrize(
    ("kind", "until"),
    [(DEDUPLICATED, (3, -1)), (VISITED, (3,)), (SESSIONS, (-1,))],
    ids=["dedup", "visits", "timers"],
)
def test_batches_give_out_again_what_they_gave(
    tmp_path: Path, spark: SparkSession, kind: Kind, until: tuple[int, ...]
) -> None:
    flow = kind.flow(tmp_path)
    kind.live(flow, HISTORY)
    batches = flow.batches
    # Several files in a batch, an empty one between others, a flush, late and rejected rows.
    assert {len(batch.inputs) for batch in batches} == {0, 1, 2}
    assert batches[-1].inputs or batches[-2].inputs
    assert late(flow) > 0
    assert sum(batch.rejected for batch in batches) == 1
    assert live(flow, 0) < live(flow, 3) < live(flow, len(batches) - 1)
    for number in until:
        last = batches[number].batch
        assert replayed(flow, spark, last) == live(flow, last)


def test_what_is_left_out_has_never_been_there(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidemill.engine.recompute import replay_segments

    # A longer history is not laid out at once.
    monkeypatch.setattr(replay_segments, "MOST_BATCHES", 2)
    kind = DEDUPLICATED
    flow, without = kind.flow(tmp_path / "with"), kind.flow(tmp_path / "without")
    wrong = {"events-2": [(11, "a", "x"), (2, "b", "x"), (3, "only here", "x"), (4, None, "x")]}
    first = {"events-1": [(1, "a", "login"), (3, "c", "view"), (20, "d", "view")]}
    rest: History = [{"events-3": [(21, "b", "view"), (12, "a", "view"), (22, "c", "view")]}]
    kind.live(flow, [first, wrong, *rest])
    kind.live(without, [first, {"events-2": []}, *rest])
    excludes = [file for batch in flow.batches for file in batch.inputs if "s-2" in file.path]
    last = flow.batches[-1].batch
    assert live(flow, last) != live(without, last)
    assert replayed(flow, spark, last, excludes=tuple(excludes)) == live(without, last)
    assert len(excludes) == 1


@pytest.mark.parametrize("kind", [OUTER, INNER], ids=["outer", "inner"])
def test_streams_meet_again_as_they_met(tmp_path: Path, spark: SparkSession, kind: Kind) -> None:
    flow = kind.flow(tmp_path)
    kind.live(flow, MEETINGS)
    last = flow.batches[-1].batch
    assert late(flow) == 2
    if kind is INNER:
        assert replayed(flow, spark, last) == live(flow, last)
        return
    # What is kept is looked for among what came out: it has no part in the watermark.
    kept = Counter({row: n for row, n in live(flow, last).items() if "'campaign': 'y'" in row})
    assert 0 < len(kept) < len(live(flow, last))
    assert replayed(flow, spark, last, keep=lambda rows: rows.where("campaign = 'y'")) == kept


def test_of_what_is_updated_the_last_row_of_each_key_is_left(
    tmp_path: Path, spark: SparkSession
) -> None:
    flow = UPDATED.flow(tmp_path)
    labels = tmp_path / "labels"
    labels.mkdir()
    schema = "id string, label string"
    static = {"kind": "file", "format": "json", "path": str(labels), "schema": schema}
    flow.write(statics={"labels": static})

    def label(text: str) -> None:
        rows = ({"id": name, "label": text} for name in ("a", "b"))
        (labels / f"{text}.json").write_text("\n".join(map(json.dumps, rows)))

    label("new")
    UPDATED.live(flow, [{"events-1": [(1, "a", ""), (2, "b", ""), (3, None, "")]}])
    # Each batch goes with the labels that were there then.
    (labels / "new.json").unlink()
    label("old")
    UPDATED.live(flow, [{"events-2": [(4, "a", ""), (15, "b", "")]}])
    found = replayed(flow, spark, flow.batches[-1].batch)
    assert len(found) == 4
    for expected in (
        "'id': 'a', 'label': 'old', 'rows': 2",
        "'id': 'b', 'label': 'new', 'rows': 1",
        "'id': 'b', 'label': 'old', 'rows': 1",
        "'reason': 'rule known'",
    ):
        assert sum(expected in row for row in found) == 1
