"""A step's report becomes metrics, which Airflow sends where its settings say."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.airflow.fake_step import error, report_of
from tests.support.airflow.otlp_receiver import OtlpReceiver
from tidemill.contract.project import REPOSITORY
from tidemill.contract.report import Outcome, Report, Step
from tidemill.steps.parts.overdue import FeedOverdue
from tidemill_airflow.operators.metrics import Metric, metrics_of

# As Airflow's task runner begins.
TASK = """
import sys
from airflow.sdk.configuration import conf
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics import stats_utils
from tidemill.contract.report import Report
from tidemill_airflow.operators.outcome import conclude

stats.initialize(
    factory=stats_utils.get_stats_factory(),
    export_legacy_names=conf.getboolean("metrics", "legacy_names_on"),
)
report = Report.parse(sys.stdin.buffer.read())
conclude(report.step, report, 0)
"""
INGESTED = {
    "rows": 90,
    "rows_in": [60, None, 40],
    "rejected_by_reason": {"malformed": 7, "rule: positive": 2},
    "late": {"rows": 1, "batches": {"3": 1}, "unknown": []},
}


def told(step: Step, outcome: Outcome, facts: dict[str, Any], **more: Any) -> list[Metric]:
    found = [*metrics_of(report_of(step, outcome, facts=facts, **more))]
    return [metric for metric in found if metric.name != "step_duration"]


def test_a_step_says_how_long_it_took_and_how_it_ended() -> None:
    started = datetime(2026, 3, 1, tzinfo=UTC)
    report = report_of("gate", Outcome.SKIPPED).model_copy(
        update={"started": started, "finished": started + timedelta(seconds=90)}
    )
    assert [*metrics_of(report)] == [
        Metric("step_duration", "timer", 90.0, {"step": "gate", "outcome": "skipped"})
    ]


def test_a_doctor_says_what_waits_and_since_when_nothing_arrived() -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    facts = {
        "backlog_bytes": 2048,
        "sources": {
            "orders": {
                "new": 3,
                "last_arrival": "2026-03-01T23:00:00+00:00",
                "problems": [{"code": "FallingBehind"}],
            },
            "rates": {"new": None, "last_arrival": None, "problems": []},
        },
    }
    report = report_of("doctor", Outcome.DONE, facts=facts).model_copy(update={"finished": now})
    assert [*metrics_of(report)][1:] == [
        Metric("waiting_bytes", "gauge", 2048),
        Metric("waiting_input", "gauge", 3, {"source": "orders"}),
        Metric("last_arrival_age_seconds", "gauge", 3600.0, {"source": "orders"}),
        Metric("falls_behind", "gauge", 1, {"source": "orders"}),
        Metric("falls_behind", "gauge", 0, {"source": "rates"}),
    ]


def test_a_feed_that_is_overdue_tells_its_age_too() -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    overdue = FeedOverdue(
        "Nothing arrived.", remedy="Ask.", source="orders", last_arrival=now - timedelta(days=2)
    )
    report = report_of("doctor", Outcome.FAILED, error=overdue.as_dict())
    assert [*metrics_of(report.model_copy(update={"finished": now}))][1:] == [
        Metric("refusals", "counter", 1, {"code": "FeedOverdue"}),
        Metric("last_arrival_age_seconds", "gauge", 172_800.0, {"source": "orders"}),
    ]


def test_an_ingest_counts_its_rows_by_what_became_of_them() -> None:
    assert told("ingest", Outcome.DONE, INGESTED) == [
        Metric("rows_in", "counter", 100),
        Metric("rows_good", "counter", 90),
        Metric("rows_rejected", "counter", 7, {"reason": "malformed"}),
        Metric("rows_rejected", "counter", 2, {"reason": "rule: positive"}),
        Metric("rows_late", "counter", 1),
    ]


@pytest.mark.parametrize(("outcome", "verdict"), [(Outcome.HELD, "held"), (Outcome.DONE, "passed")])
def test_a_gate_counts_increments_by_their_verdict(outcome: Outcome, verdict: str) -> None:
    assert told("gate", outcome, {"increment": 4}) == [
        Metric("increments_judged", "counter", 1, {"verdict": verdict})
    ]


def test_a_publish_counts_what_went_out_and_computed_again_apart() -> None:
    facts = {"published": [{"kind": "increment", "rows": 5}, {"kind": "swap", "rows": 2}]}
    assert told("publish", Outcome.DONE, facts) == [
        Metric("increments_published", "counter", 1, {"kind": "increment"}),
        Metric("rows_published", "counter", 5),
        Metric("increments_published", "counter", 1, {"kind": "swap"}),
        Metric("rows_published", "counter", 2),
    ]


def test_a_refusal_is_counted_by_its_code() -> None:
    assert told("ingest", Outcome.REFUSED, {}, error=error("InputChanged")) == [
        Metric("refusals", "counter", 1, {"code": "InputChanged"})
    ]


def run_task(report: Report, home: Path, **settings: str) -> None:
    environ = {**os.environ, "AIRFLOW_HOME": str(home), **settings}
    subprocess.run(
        [sys.executable, "-c", TASK], input=report.content().encode(), env=environ, check=True
    )


def test_metrics_arrive_at_a_receiver_of_opentelemetry(tmp_path: Path) -> None:
    report = report_of("ingest", Outcome.DONE, facts=INGESTED)
    with OtlpReceiver() as receiver:
        run_task(
            report,
            tmp_path,
            AIRFLOW__METRICS__OTEL_ON="True",
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
        )
    pipeline = ("pipeline", "orders")
    assert ("airflow.tidemill.rows_in", (pipeline,), 100.0) in receiver.points
    rejected = (("pipeline", "orders"), ("reason", "malformed"))
    assert ("airflow.tidemill.rows_rejected", rejected, 7.0) in receiver.points
    assert "airflow.tidemill.step_cpu" in {name for name, _, _ in receiver.points}


@pytest.mark.parametrize(
    ("influxdb", "rows_in", "rejected"),
    [
        ("False", "rows_in.orders", "rows_rejected.orders.rule__positive"),
        ("True", "rows_in,pipeline=orders", "rows_rejected,pipeline=orders,reason=rule__positive"),
    ],
)
def test_statsd_gets_the_pipeline_in_the_name_or_as_a_tag(
    tmp_path: Path, influxdb: str, rows_in: str, rejected: str
) -> None:
    report = report_of("ingest", Outcome.DONE, facts=INGESTED)
    lines = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        run_task(
            report,
            tmp_path,
            AIRFLOW__METRICS__STATSD_ON="True",
            AIRFLOW__METRICS__STATSD_HOST="127.0.0.1",
            AIRFLOW__METRICS__STATSD_PORT=str(receiver.getsockname()[1]),
            AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED=influxdb,
        )
        # The task has ended, so that all it sent is here.
        receiver.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                lines.add(receiver.recv(1024).decode())
    assert {f"airflow.tidemill.{rows_in}:100|c", f"airflow.tidemill.{rejected}:2|c"} <= lines


def documented() -> set[str]:
    page = (REPOSITORY / "docs/operations/monitoring.md").read_text()
    rows = page[page.index("## Metrics") :].splitlines()
    return {row.split("`")[1] for row in rows if row.startswith("| `")}


def test_the_page_lists_the_metrics_that_are_sent() -> None:
    source = {"new": 1, "last_arrival": "2026-03-01T00:00:00+00:00"}
    doctor = {"backlog_bytes": 1, "sources": {"orders": source}}
    reports = [
        report_of("doctor", Outcome.DONE, facts=doctor),
        report_of("ingest", Outcome.DONE, facts=INGESTED),
        report_of("gate", Outcome.DONE, facts={"increment": 1}),
        report_of("publish", Outcome.DONE, facts={"published": [{"kind": "swap", "rows": 1}]}),
        report_of("publish", Outcome.FAILED, error=error("DiskFull")),
    ]
    sent = {metric.name for report in reports for metric in metrics_of(report)}
    assert documented() == sent | {"step_cpu"}


@pytest.mark.parametrize("example", ["alerts.yaml", "grafana.json"])
def test_the_examples_ask_for_metrics_that_are_sent(example: str) -> None:
    text = (REPOSITORY / "docs/monitoring" / example).read_text()
    asked = set(re.findall(r"airflow_tidemill_([a-z_]+?)(?:_count)?\b", text))
    assert asked
    assert asked <= documented()
