"""Airflow's OpenLineage provider learns what each step read and wrote."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.openlineage.extractors.base import DefaultExtractor, OperatorLineage

from tests.support.airflow.fake_step import report_of
from tests.support.histories.history_builder import History, rows
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome, Step
from tidemill.increments.judgement import ExpectationOutcome, Judgement
from tidemill.ledger.reprocessed_run import current_run_id, next_run_id
from tidemill_airflow.operators.ingest import GroupIngestOperator, IngestOperator
from tidemill_airflow.operators.spark_step import SparkStepOperator
from tidemill_airflow.operators.steps import GateOperator, PublishOperator

CONN = {"conn_id": "tidemill_spark"}
PUBLISHED = [{"increment": 1, "version": 7, "kind": "increment", "rows": 3, "rejected": 0}]
SERVER = {"conn_type": "postgres", "host": "db.example", "schema": "sales"}
BROKER = {"conn_type": "kafka", "extra": {"bootstrap.servers": "one.example:9092,two.example:9092"}}


@pytest.fixture
def history(history: History, monkeypatch: pytest.MonkeyPatch) -> History:
    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(SERVER))
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(BROKER))
    return history


def lineage(
    history: History, operator: SparkStepOperator, facts: dict[str, Any]
) -> OperatorLineage:
    """As the provider asks for it once the task has ended."""
    step: Step = operator.step
    report = report_of(step, Outcome.DONE, facts=facts)
    reports.write(report, history.layout.run(current_run_id(history.layout, "run-1")))
    task_instance = SimpleNamespace(run_id="run-1")
    found = DefaultExtractor(operator).extract_on_complete(task_instance)
    assert found is not None
    return found


def names(datasets: list[Any]) -> list[tuple[str, str]]:
    return [(dataset.namespace, dataset.name) for dataset in datasets]


@pytest.mark.parametrize("group", [False, True])
def test_an_ingest_reads_the_sources_with_their_schema(history: History, group: bool) -> None:
    name = history.layout.name
    ingest = (
        GroupIngestOperator(task_id="ingest", group="all", members=[name], **CONN)
        if group
        else IngestOperator(task_id="ingest", pipeline=name, **CONN)
    )
    found = lineage(history, ingest, {"rows": 3})
    assert names(found.inputs) == [("file", str(history.inputs))]
    schema = found.inputs[0].facets["schema"]
    assert ("id", "bigint") in [(field.name, field.type) for field in schema.fields]
    assert names(found.outputs) == [("file", str(history.layout.increments))]
    assert found.outputs[0].outputFacets["outputStatistics"].rowCount == 3


def test_a_gate_says_which_expectations_were_met(history: History) -> None:
    history.batch(rows(0))
    sealed = history.seal()
    outcome = ExpectationOutcome(
        type="expect_column_values_to_be_unique",
        columns=("id",),
        kwargs={"column": "id"},
        severity="critical",
        scope="increment",
        success=False,
    )
    judgement = Judgement(
        engine="in_process",
        suite="orders",
        suite_hash="suite",
        rows=1,
        success=False,
        reason="expectations",
        outcomes=(outcome,),
    )
    history.judge(sealed.increment, "held", judgement=judgement)
    gate = GateOperator(task_id="gate", pipeline=history.layout.name, **CONN)
    found = lineage(history, gate, {"increment": sealed.increment})
    (facet,) = found.inputs[0].inputFacets.values()
    assert [(one.column, one.success, one.severity) for one in facet.assertions] == [
        ("id", False, "error")
    ]


def test_a_publish_writes_every_target_and_names_what_went_out(history: History) -> None:
    history.more = (
        "publish: [{kind: delta}, {kind: postgres, conn_id: warehouse, table: orders}, "
        "{kind: kafka, topic: orders}]"
    )
    history.write_spec()
    publish = PublishOperator(task_id="publish", pipeline=history.layout.name, **CONN)
    found = lineage(history, publish, {"published": PUBLISHED})
    assert names(found.outputs) == [
        ("file", str(history.layout.table)),
        ("postgres://db.example:5432", "sales.public.orders"),
        ("kafka://one.example:9092", "orders"),
    ]
    assert found.outputs[0].facets["version"].datasetVersion == "7"
    assert {one.outputFacets["outputStatistics"].rowCount for one in found.outputs} == {3}
    assert found.run_facets["tidemill_increments"].increments == PUBLISHED


def test_a_run_that_a_backfill_reprocesses_has_the_lineage_of_the_backfill(
    history: History,
) -> None:
    publish = PublishOperator(task_id="publish", pipeline=history.layout.name, **CONN)
    lineage(history, publish, {"published": PUBLISHED})
    next_run_id(history.layout, "run-1")
    again = [{**PUBLISHED[0], "increment": 2, "kind": "swap"}]
    found = lineage(history, publish, {"published": again})
    assert found.run_facets["tidemill_increments"].increments == again


def test_a_step_without_a_report_has_no_lineage(history: History) -> None:
    publish = PublishOperator(task_id="publish", pipeline=history.layout.name, **CONN)
    found = lineage(history, publish, {})
    assert (found.inputs, found.outputs) == ([], [])
