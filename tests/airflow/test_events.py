"""Consumers hear of every increment once: not before it is stored, and not never."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from airflow.sdk import Asset, AssetAlias, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_dag_run import context_of
from tests.support.airflow.fake_step import leaving, report_of
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.journal.journal import Applied, Event, Journal
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import Recomputation
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.spec.pipeline import open_pipeline
from tidemill_airflow.events import announce, emit, table_alias, table_asset
from tidemill_airflow.operators.steps import PublishOperator, announce_emitted


class Outlet:
    """What Airflow would send."""

    def __init__(self) -> None:
        self.sent: list[tuple[Asset, dict[str, Any]]] = []

    def add(self, asset: Asset, extra: dict[str, Any]) -> None:
        self.sent.append((asset, extra))


@pytest.fixture
def outlet() -> Outlet:
    return Outlet()


@pytest.fixture
def context(outlet: Outlet) -> Context:
    events: dict[AssetAlias, Outlet] = {table_alias(NAME): outlet}
    return context_of(outlet_events=events)


def publish(layout: Layout, seq: int, *, applied: bool = True, **more: Any) -> None:
    """An increment that went out."""
    now = datetime.now(UTC)
    journal = Journal(layout.journal)
    journal.append(
        Event(
            seq=seq,
            increment=seq,
            generation="live-0001",
            first=seq * 10,
            last=seq * 10 + 4,
            rows=100 * seq,
            rejected=seq,
            files_hash="",
            verdict={},
            run_id=f"run-{seq}",
            at=now,
            **{"release": None, **more},
        )
    )
    if applied:
        journal.record(Applied(seq=seq, target="delta", version=seq - 1, run_id="r", at=now))


def test_an_event_says_what_went_out(layout: Layout, outlet: Outlet, context: Context) -> None:
    publish(layout, 3)
    assert emit(open_pipeline(NAME), context) == (3,)
    assert outlet.sent == [
        (
            table_asset(NAME),
            {
                "kind": "increment",
                "target": "delta",
                "version": 2,
                "increment": 3,
                "generation": "live-0001",
                "first_batch": 30,
                "last_batch": 34,
                "rows": 300,
                "rejected": 3,
                "run_id": "run-3",
            },
        )
    ]


def recomputed(kind: RecomputationKind, partitions: Partitions | None = None) -> Recomputation:
    return Recomputation(
        kind=kind,
        generation="live-0001",
        first=0,
        last=34,
        seq=2,
        partitions=partitions,
        code_hash="",
        spec_hash="",
        by="ada",
        reason="new rule",
    )


DAYS = Partitions(columns=("day",), values=(("2026-03-01",), ("2026-03-02",), ("2026-03-03",)))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"kind": "swap", "recomputation": recomputed("backfill", DAYS)},
            {
                "kind": "swap",
                "recomputation": "backfill",
                "by": "ada",
                "partition_by": ["day"],
                "partitions": [["2026-03-01"], ["2026-03-02"], ["2026-03-03"]],
                "run_id": "run-3",
            },
        ),
        # Rows that may be anywhere have no known partitions.
        (
            {"kind": "swap", "recomputation": recomputed("backfill", Partitions())},
            {"partitions": None},
        ),
        (
            {"kind": "swap", "recomputation": recomputed("reinstate")},
            {"partitions": None, "by": "ada"},
        ),
        (
            {"kind": "replace", "recomputation": recomputed("rebuild")},
            {"kind": "replace", "by": "ada"},
        ),
        (
            {"kind": "increment", "recomputation": recomputed("redo")},
            {"kind": "increment", "by": "ada"},
        ),
        ({"kind": "reject", "rejection": {"by": "bob"}}, {"kind": "reject", "by": "bob"}),
        ({"release": {"by": "bob"}}, {"kind": "increment", "by": "bob"}),
    ],
)
def test_an_event_says_what_it_did_and_in_whose_name(
    layout: Layout, outlet: Outlet, context: Context, more: dict[str, Any], said: dict[str, Any]
) -> None:
    publish(layout, 3, **more)
    emit(open_pipeline(NAME), context)
    ((_, extra),) = outlet.sent
    assert {key: extra[key] for key in said} == said
    assert ("partitions" in extra) is (extra["kind"] == "swap")


def test_each_increment_has_its_own_event(layout: Layout, outlet: Outlet, context: Context) -> None:
    publish(layout, 1)
    publish(layout, 2)
    emit(open_pipeline(NAME), context)
    assert [extra["increment"] for _, extra in outlet.sent] == [1, 2]


def test_what_was_announced_is_not_sent_again(
    layout: Layout, outlet: Outlet, context: Context
) -> None:
    publish(layout, 1)
    pipeline = open_pipeline(NAME)
    announce(pipeline, emit(pipeline, context))
    assert emit(pipeline, context) == ()
    assert len(outlet.sent) == 1


def test_what_was_sent_and_not_announced_is_sent_again(
    layout: Layout, outlet: Outlet, context: Context
) -> None:
    publish(layout, 1)
    assert emit(open_pipeline(NAME), context) == (1,)
    assert emit(open_pipeline(NAME), context) == (1,)


def test_what_no_consumer_can_read_yet_is_not_sent(
    layout: Layout, outlet: Outlet, context: Context
) -> None:
    publish(layout, 1, applied=False)
    assert emit(open_pipeline(NAME), context) == ()
    assert outlet.sent == []


def publish_task(layout: Layout, outcome: Outcome) -> PublishOperator:
    task = PublishOperator(task_id="publish", pipeline=NAME, conn_id="tidemill_spark")
    task.command = leaving(layout.runs, report_of("publish", outcome))
    return task


def test_the_publish_task_notes_only_what_it_sent(
    layout: Layout, outlet: Outlet, context: Context
) -> None:
    publish(layout, 1)
    task = publish_task(layout, Outcome.DONE)
    task.execute(context)
    # Somebody publishes from a shell before the task's success is stored.
    publish(layout, 2)
    announce_emitted(cast("Context", {"task": task}))
    assert [event.seq for event in Journal(layout.journal).unannounced()] == [2]


def test_what_went_out_is_told_though_the_runs_own_increment_waits(
    layout: Layout, outlet: Outlet, context: Context
) -> None:
    publish(layout, 1)
    # Airflow drops the events of a skipped task.
    assert publish_task(layout, Outcome.WAITING).execute(context)["outcome"] == "waiting"
    assert len(outlet.sent) == 1


def test_a_publish_that_waits_without_news_is_skipped(layout: Layout, context: Context) -> None:
    with pytest.raises(AirflowSkipException):
        publish_task(layout, Outcome.WAITING).execute(context)


def test_a_publish_that_failed_tells_nothing(
    layout: Layout, outlet: Outlet, context: Context
) -> None:
    publish(layout, 1)
    with pytest.raises(AirflowFailException):
        publish_task(layout, Outcome.REFUSED).execute(context)
    assert outlet.sent == []
