"""What a spec makes of its DAG: gated or not, by the clock, woken, or both."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.assets import AssetOrTimeSchedule
from airflow.timetables.simple import AssetTriggeredTimetable
from airflow.utils.types import DagRunType

from tests.airflow.conftest import NAME
from tests.support.spec_text import PATH, minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.spec.spec import Spec
from tidemill_airflow.dag import build_dag, dags
from tidemill_airflow.dags.house_rules import RESOLVE_RULES, RULES, has_its_steps
from tidemill_airflow.dags.resolve import build_resolve_dag
from tidemill_airflow.events import table_alias
from tidemill_airflow.task_names import pipeline_of

KAFKA = """
sources:
  events: {kind: kafka, subscribe: events, value: {format: text}}
"""
CHAINED = """
sources:
  orders: {kind: table, pipeline: shop_orders, schema: id string}
wake: {tables: {}}
"""
TO_KAFKA = "sink: {kind: kafka, topic: counts, conn_id: counters}\n"
DAILY = "schedule: '@daily'\ntimezone: Europe/London\n"
WOKEN = "wake: {files: {poke: 2 days}}\n"


def both(text: str) -> tuple[DAG, Spec]:
    spec = parse(text)
    return build_dag(NAME, spec, PATH), spec


def serialised(text: str) -> Any:
    return DagSerialization.deserialize_dag(DagSerialization.serialize_dag(both(text)[0]))


def resolve_dag() -> DAG:
    return build_resolve_dag(NAME, parse(minimal(DAILY)), PATH)


def refused(dag: DAG, given: dict[str, Any]) -> bool:
    """Whether Airflow refuses to start a run with these parameters."""
    form = copy.deepcopy(dag.params)
    try:
        form.update(given)
        form.validate()
    except ParamValidationError:
        return True
    return False


def test_a_pipeline_with_a_sink_of_sparks_has_no_gate_and_sends_no_asset_event() -> None:
    dag, spec = both(KAFKA + TO_KAFKA)
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "doctor": {"ingest"},
        "ingest": set(),
    }
    assert not any(task.outlets for task in dag.tasks)
    assert [complaint for rule in RULES for complaint in rule(dag, spec)] == []


def test_a_gate_that_would_judge_nothing_is_caught() -> None:
    gated, _ = both(KAFKA)
    _, ungated = both(KAFKA + TO_KAFKA)
    assert len(list(has_its_steps(gated, ungated))) == 1


def test_it_is_bounded_like_every_other() -> None:
    dag, _ = both(KAFKA + TO_KAFKA)
    ingest = dag.get_task("ingest")
    assert (dag.max_active_runs, ingest.max_active_tis_per_dag, ingest.pool) == (1, 1, "tidemill")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (minimal(), ["`orders`", "`/in/orders`", "/orders/table`", "/orders/rejected`"]),
        (KAFKA, ["`events`", "`tidemill_kafka`", "mode `backfill`", f"`{NAME}__resolve`"]),
        (KAFKA + TO_KAFKA, ["`counts`", "`counters`", "without a gate"]),
        (
            minimal("publish: [{kind: delta}, {kind: mariadb, conn_id: shop, table: takings}]\n"),
            ["/orders/table`", "mariadb", "`takings`", "`shop`"],
        ),
        (minimal(WOKEN), ["`orders` (files, a look each 2 days"]),
    ],
)
def test_its_page_names_where_rows_come_from_and_go(text: str, said: list[str]) -> None:
    page = both(text)[0].doc_md or ""
    assert [words for words in said if words not in page] == []


def test_no_page_names_what_will_never_be() -> None:
    page = both(KAFKA + TO_KAFKA)[0].doc_md or ""
    assert [words for words in ("/table`", "backfill", "__resolve") if words in page] == []


@pytest.mark.parametrize("more", ["", "group: small\n"])
def test_its_page_names_the_root_that_the_project_gives(tmp_path: Path, more: str) -> None:
    specs = tmp_path / "dags" / "specs"
    specs.mkdir(parents=True)
    (specs / "one.yaml").write_text(minimal(more))
    (tmp_path / "tidemill.yaml").write_text("root: /srv/mill\n")
    pages = [one.doc_md or "" for one in dags({"TIDEMILL_PROJECTS": str(tmp_path)})]
    assert any("/srv/mill/one/table" in page for page in pages)


# --- assets

INLET, OUTLET = "s3://shop/orders", "s3://shop/totals"
ASSETS = f"assets: {{inlets: [{{uri: {INLET}}}], outlets: [{{uri: {OUTLET}, extra: {{a: 1}}}}]}}\n"


@pytest.mark.parametrize(
    ("text", "writes"), [(KAFKA + ASSETS, "publish"), (KAFKA + TO_KAFKA + ASSETS, "ingest")]
)
def test_assets_of_the_spec_are_those_of_the_tasks_that_read_and_write(
    text: str, writes: str
) -> None:
    tasks = {task.task_id: task for task in both(text)[0].tasks}
    found = {name: [i.uri for i in task.inlets] for name, task in tasks.items() if task.inlets}
    assert found == {"ingest": [INLET]}
    outlets = [asset for asset in tasks[writes].outlets if isinstance(asset, Asset)]
    assert [(asset.uri, asset.name, asset.extra) for asset in outlets] == [
        (OUTLET, OUTLET, {"a": 1})
    ]


def test_a_uri_that_airflow_does_not_take_is_an_error_of_the_spec() -> None:
    with pytest.raises(SpecError) as error:
        both(KAFKA + "assets: {outlets: [{uri: 'airflow://orders'}]}\n")
    assert error.value.field == "assets"


# --- backfills


@pytest.mark.parametrize(("text", "may"), [(KAFKA, True), (KAFKA + TO_KAFKA, False)])
def test_what_spark_has_put_into_a_sink_of_its_own_is_not_backfilled(text: str, may: bool) -> None:
    dag, _ = both(text)
    assert (DagRunType.BACKFILL_JOB in {*map(DagRunType, dag.allowed_run_types or ())}) is may
    assert bool(dag.params) is may


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"mode": "backfill", "from": "2026-03-01", "to": "2026-03-08T00:00:00Z", "dry_run": True},
        {"reason": "the rule was wrong"},
    ],
)
def test_the_form_of_a_pipeline_takes(given: dict[str, Any]) -> None:
    assert not refused(both(KAFKA)[0], given)


@pytest.mark.parametrize(
    "given", [{"mode": "redo"}, {"mode": None}, {"from": 20260301}, {"dry_run": "yes"}]
)
def test_the_form_of_a_pipeline_does_not_take(given: dict[str, Any]) -> None:
    assert refused(both(KAFKA)[0], given)


RELEASE = {"action": "release", "increment": 3, "reason": "the shop was closed"}


@pytest.mark.parametrize(
    "given",
    [RELEASE, {"action": "redo", "exclude": ["a.csv", "b.csv"], "reason": "broken files"}],
)
def test_the_form_of_a_resolve_dag_takes(given: dict[str, Any]) -> None:
    assert not refused(resolve_dag(), given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"action": "release", "increment": 3},
        {**RELEASE, "reason": ""},
        {**RELEASE, "action": "publish"},
        {**RELEASE, "increment": 0},
        {**RELEASE, "exclude": "a.csv"},
    ],
)
def test_the_form_of_a_resolve_dag_does_not_take(given: dict[str, Any]) -> None:
    assert refused(resolve_dag(), given)


def test_a_resolve_dag_asks_first_and_runs_when_somebody_starts_it() -> None:
    dag = resolve_dag()
    spec = parse(minimal(DAILY))
    assert [complaint for rule in RESOLVE_RULES for complaint in rule(dag, spec)] == []
    assert (dag.dag_id, dag.max_active_runs, dag.is_paused_upon_creation) == (
        f"{NAME}__resolve",
        1,
        False,
    )
    assert pipeline_of(dag.dag_id, "gate") == NAME


# --- waking


def test_a_woken_pipeline_without_a_schedule_runs_when_something_arrives() -> None:
    timetable = serialised(minimal(WOKEN)).timetable
    assert isinstance(timetable, AssetTriggeredTimetable)
    assert not isinstance(timetable, AssetOrTimeSchedule)


def test_with_a_schedule_it_runs_for_both_and_its_scheduled_runs_have_real_intervals() -> None:
    timetable = serialised(minimal(DAILY + WOKEN)).timetable
    assert isinstance(timetable, AssetOrTimeSchedule)
    interval = timetable.infer_manual_data_interval(run_after=datetime(2026, 3, 30, 5, tzinfo=UTC))
    # The clocks went forward on this Sunday, so the day had 23 hours.
    assert interval.start == datetime(2026, 3, 29, 0, tzinfo=UTC)
    assert interval.end == datetime(2026, 3, 29, 23, tzinfo=UTC)


@pytest.mark.parametrize("more", [WOKEN, DAILY + WOKEN])
def test_a_run_that_was_woken_is_allowed(more: str) -> None:
    dag, spec = both(minimal(more))
    assert DagRunType.ASSET_TRIGGERED in {*map(DagRunType, dag.allowed_run_types or ())}
    assert [complaint for rule in RULES for complaint in rule(dag, spec)] == []


def test_each_kind_of_source_has_a_watcher_of_its_own() -> None:
    text = KAFKA + "  orders: {kind: file, format: csv, path: /in, schema: id string}\n"
    dag, _ = both(text + "wake: {files: {poke: 2 days}, kafka: {}}\n")
    timetable: Any = dag.timetable
    (asset,) = timetable.asset_condition.objects
    assert {w.name: w.trigger.serialize()[1] for w in asset.watchers} == {
        "files": {"pipeline": NAME, "kind": "files", "poke": 172800.0},
        "kafka": {"pipeline": NAME, "kind": "kafka", "poke": 30.0},
    }


def test_a_pipeline_that_reads_anothers_table_names_it_as_inlet_and_is_woken_by_it() -> None:
    dag, _ = both(CHAINED)
    assert table_alias("shop_orders") in dag.get_task("ingest").inlets
    timetable: Any = dag.timetable
    arrived, table = timetable.asset_condition.objects
    assert [watcher.trigger.kind for watcher in arrived.watchers] == ["tables"]
    assert table == table_alias("shop_orders")


def test_a_woken_dag_serialises_the_same_way_each_time() -> None:
    first, second = (DagSerialization.to_dict(both(minimal(WOKEN))[0]) for _ in range(2))
    assert first == second


def test_a_question_is_put_again_whatever_the_spec_says_of_retries() -> None:
    spec = parse(minimal(DAILY + "airflow: {retries: 0}\n"))
    tasks = {task.task_id: task for task in build_resolve_dag(NAME, spec, PATH).tasks}
    assert tasks["doctor"].retries == 0
    assert tasks["approve"].retries > 0
