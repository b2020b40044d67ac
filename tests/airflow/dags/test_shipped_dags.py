"""The DAGs as Airflow reads them, without a database."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from tests.airflow.conftest import NAME
from tests.support.spec_text import PATH, minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.contract.project import REPOSITORY, Project
from tidemill.spec.load import load_spec
from tidemill_airflow.dag import build_dag
from tidemill_airflow.dags import house_rules
from tidemill_airflow.dags.house_rules import RESOLVE_RULES, RULES, Rule
from tidemill_airflow.dags.resolve import build_resolve_dag
from tidemill_airflow.integrity import DAG_FILE, HEAVY, Parsed, problems
from tidemill_airflow.integrity import parse as parse_dags
from tidemill_airflow.task_names import resolve_id

SPECS = {path.stem: load_spec(path) for path in Project(REPOSITORY).specs.glob("*.yaml")}
SHIPPED = set(SPECS)
RESOLVED = {resolve_id(name) for name, spec in SPECS.items() if spec.published}
OWN = {NAME, resolve_id(NAME)}


@pytest.fixture(scope="session")
def parsed() -> Parsed:
    """This repository's DAGs, parsed once."""
    with pytest.MonkeyPatch.context() as environ:
        environ.delenv("TIDEMILL_PROJECTS", raising=False)
        return parse_dags()


def dag_of(more: str = "") -> DAG:
    return build_dag(NAME, parse(minimal(more)), PATH)


def write_spec(project: Path, stem: str, text: str) -> Path:
    path = project / "dags" / "specs" / f"{stem}.yaml"
    path.write_text(text)
    return path


def integrity(*arguments: str) -> tuple[int, dict[str, Any]]:
    """The command as a user runs it, in a process that has imported nothing yet."""
    ended = subprocess.run(
        [sys.executable, "-m", "tidemill_airflow.integrity", "--json", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, json.loads(ended.stdout)


# --- the exact set, and the house rules


def test_there_is_one_dag_per_shipped_spec_and_one_of_decisions_per_published_one(
    parsed: Parsed,
) -> None:
    assert set(parsed.dags) == SHIPPED | RESOLVED
    assert RESOLVED
    assert {"retail", "shop_orders"} <= SHIPPED
    assert parsed.errors == {}


@pytest.mark.parametrize("name", sorted(name for name in SHIPPED if SPECS[name].published))
def test_a_dag_is_doctor_ingest_gate_publish(parsed: Parsed, name: str) -> None:
    follows = {task.task_id: task.downstream_task_ids for task in parsed.dags[name].tasks}
    assert follows == {
        "doctor": {"ingest"},
        "ingest": {"gate"},
        "gate": {"publish"},
        "publish": set(),
    }


def test_the_shipped_dags_keep_the_house_rules(
    parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEMILL_PROJECTS", raising=False)
    assert list(problems([Project(REPOSITORY)], parsed)) == []


def test_a_user_checks_a_folder_of_their_own_and_parsing_it_imports_nothing_heavy(
    project: Path,
) -> None:
    code, answer = integrity(str(project))
    assert (code, answer["problems"]) == (0, [])
    assert set(answer["dags"]) == SHIPPED | RESOLVED | OWN


# --- what must turn the check red


def test_a_broken_spec_turns_the_check_red(project: Path) -> None:
    path = write_spec(project, "broken", minimal("schedul: '@daily'\n"))
    code, answer = integrity(str(project))
    assert code == 1
    assert [(item["file"], item["line"]) for item in answer["problems"]] == [(str(path), 9)]
    assert set(answer["dags"]) == SHIPPED | RESOLVED | OWN


def test_an_empty_folder_turns_the_check_red(parsed: Parsed, tmp_path: Path) -> None:
    found = list(problems([Project(tmp_path)], parsed))
    assert [problem.file for problem in found] == [str(tmp_path / "dags" / "specs")]


def test_a_dag_without_a_spec_turns_the_check_red(parsed: Parsed) -> None:
    surplus = Parsed({**parsed.dags, "surplus": dag_of()}, {}, ())
    found = list(problems([Project(REPOSITORY)], surplus))
    assert [problem.file for problem in found] == [str(DAG_FILE)]


@pytest.mark.parametrize("name", ["shop_orders", resolve_id("shop_orders")])
def test_a_spec_without_its_dags_turns_the_check_red(parsed: Parsed, name: str) -> None:
    missing = Parsed({n: d for n, d in parsed.dags.items() if n != name}, {}, ())
    found = list(problems([Project(REPOSITORY)], missing))
    assert [Path(problem.file).stem for problem in found] == ["shop_orders"]


@pytest.mark.parametrize("module", HEAVY)
def test_a_heavy_import_turns_the_check_red(parsed: Parsed, module: str) -> None:
    heavy = Parsed(parsed.dags, {}, (module,))
    found = list(problems([Project(REPOSITORY)], heavy))
    assert [problem.file for problem in found] == [str(DAG_FILE)]


def _task(dag: DAG, task_id: str, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(dag.get_task(task_id), name, value)


def _spoil(dag: DAG, rule: Rule) -> None:
    spoiled = {
        house_rules.is_owned: lambda: _task(dag, "gate", owner="airflow"),
        house_rules.is_tagged: lambda: dag.tags.discard("tidemill"),
        house_rules.retries: lambda: _task(dag, "ingest", retries=0),
        house_rules.times_out: lambda: _task(dag, "publish", execution_timeout=None),
        house_rules.runs_alone: lambda: _task(dag, "publish", max_active_tis_per_dag=None),
        house_rules.has_its_steps: lambda: dag.task_dict.pop("gate"),
        house_rules.asks_first: lambda: dag.get_task("doctor").set_upstream(dag.get_task("gate")),
        house_rules.is_started_by_hand: lambda: setattr(dag, "allowed_run_types", None),
        house_rules.swaps_only_what_it_published: lambda: setattr(dag, "allowed_run_types", None),
        house_rules.takes_no_input_from_runs: lambda: _task(
            dag, "ingest", template_fields=("conf",)
        ),
        house_rules.has_real_intervals: lambda: setattr(
            dag, "timetable", DAG("plain", schedule="@daily").timetable
        ),
    }
    spoiled[rule]()


@pytest.mark.parametrize("rule", sorted({*RULES, *RESOLVE_RULES}, key=lambda rule: rule.__name__))
def test_each_rule_catches_a_dag_that_breaks_it(rule: Rule) -> None:
    ungated = rule is house_rules.swaps_only_what_it_published
    more = "sink: {kind: console}\n" if ungated else "schedule: '@daily'\n"
    spec = parse(minimal(more))
    build = build_dag if rule in RULES else build_resolve_dag
    dag = build(NAME, spec, PATH)
    assert list(rule(dag, spec)) == []
    _spoil(dag, rule)
    assert len(list(rule(dag, spec))) == 1


@pytest.mark.parametrize(("field", "value"), [("max_active_runs", 2), ("catchup", True)])
def test_a_dag_that_may_run_beside_itself_is_caught(field: str, value: object) -> None:
    dag = dag_of()
    setattr(dag, field, value)
    assert len(list(house_rules.runs_alone(dag, parse(minimal())))) == 1


# --- specs that do not load


def test_a_broken_spec_is_an_import_error_of_its_own_file(project: Path) -> None:
    write_spec(project, "broken", minimal("schedul: '@daily'\n"))
    write_spec(project, "untimely", minimal("schedule: every now and then\n"))
    bag = DagBag(str(DAG_FILE), bundle_path=project / "dags")
    assert set(bag.import_errors) == {"specs/broken.yaml", "specs/untimely.yaml"}
    assert "'schedule'" in bag.import_errors["specs/broken.yaml"]
    assert set(bag.dags) == SHIPPED | RESOLVED | OWN


def test_outside_the_bundle_it_is_named_by_its_whole_path(project: Path) -> None:
    path = write_spec(project, "broken", "sources: none\n")
    bag = DagBag(str(DAG_FILE), bundle_path=REPOSITORY / "dags")
    assert set(bag.import_errors) == {str(path)}


def test_a_second_spec_of_the_same_name_leaves_the_first_alone(project: Path) -> None:
    path = write_spec(project, "retail", minimal())
    bag = DagBag(str(DAG_FILE))
    assert set(bag.import_errors) == {str(path)}
    assert set(bag.dags) == SHIPPED | RESOLVED | OWN


def test_a_file_name_that_is_no_pipeline_name_is_an_import_error_too(project: Path) -> None:
    path = write_spec(project, "No Name!", minimal())
    assert set(DagBag(str(DAG_FILE)).import_errors) == {str(path)}


def test_an_unknown_notifier_is_an_error_of_the_spec() -> None:
    with pytest.raises(SpecError) as raised:
        dag_of("notify: {notifier: no.such.Notifier}\n")
    assert raised.value.field == "notify.notifier"


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_task_process_parses_its_own_dag_only(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", name)
    assert set(DagBag(str(DAG_FILE)).dags) == {name}


def test_a_pipeline_that_would_be_another_ones_resolve_dag_is_refused(project: Path) -> None:
    path = write_spec(project, resolve_id(NAME), minimal())
    bag = DagBag(str(DAG_FILE))
    assert set(bag.import_errors) == {str(path)}
    assert set(bag.dags) == SHIPPED | RESOLVED | OWN


# --- what a spec says to Airflow


def test_the_spec_reaches_every_task() -> None:
    dag = dag_of("airflow: {owner: shop, retries: 3, timeout: 20m, pool: night, tags: [eu]}\n")
    assert dag.tags == {"tidemill", "eu"}
    for task in dag.tasks:
        assert (task.owner, task.retries, task.pool) == ("shop", 3, "night")
        assert task.execution_timeout == timedelta(minutes=20)


def placed(dag: DAG) -> dict[str, tuple[Any, ...]]:
    """Task -> its queue, pool, executor, weight and the executor's settings."""
    return {
        task.task_id: (
            task.queue,
            task.pool,
            task.executor,
            task.priority_weight,
            task.executor_config,
        )
        for task in dag.tasks
    }


def test_each_step_runs_where_the_spec_says() -> None:
    pod = {"pod_template_file": "/pods/spark.yaml"}
    settings = {
        "queue": "small",
        "priority_weight": 5,
        "steps": {
            "ingest": {"queue": "spark", "pool": "night", "executor_config": pod},
            "publish": {"executor": "CeleryExecutor", "priority_weight": 9},
        },
    }
    text = minimal(f"airflow: {json.dumps(settings)}\n")
    everywhere = {
        "doctor": ("small", "tidemill", None, 5, {}),
        "ingest": ("spark", "night", None, 5, pod),
        "gate": ("small", "tidemill", None, 5, {}),
        "publish": ("small", "tidemill", "CeleryExecutor", 9, {}),
    }
    assert placed(build_dag(NAME, parse(text), PATH)) == everywhere
    decided = placed(build_resolve_dag(NAME, parse(text), PATH))
    assert decided.items() >= everywhere.items()
    # A question is not work, so it waits for no slot of the pipelines' pool.
    assert decided["approve"] == ("small", "default_pool", None, 5, {})


def test_what_whoever_starts_a_run_says_reaches_no_template(parsed: Parsed) -> None:
    assert any(dag.params for dag in parsed.dags.values())
    for dag in parsed.dags.values():
        assert not any(task.template_fields for task in dag.tasks)


def test_a_run_has_an_interval_of_a_whole_local_day() -> None:
    dag = dag_of("schedule: '@daily'\ntimezone: Europe/London\n")
    timetable = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag)).timetable
    # The clocks went forward on this Sunday, so the day had 23 hours.
    interval = timetable.infer_manual_data_interval(run_after=datetime(2026, 3, 30, 5, tzinfo=UTC))
    assert interval.start == datetime(2026, 3, 29, 0, tzinfo=UTC)
    assert interval.end == datetime(2026, 3, 29, 23, tzinfo=UTC)


def test_without_a_schedule_a_dag_waits_to_be_started() -> None:
    assert not dag_of().timetable.can_be_scheduled


@pytest.mark.parametrize("schedule", ["@once", "@fortnightly", "61 * * * *", "daily"])
def test_a_schedule_that_is_no_cron_expression_is_an_error_of_the_spec(schedule: str) -> None:
    with pytest.raises(SpecError) as raised:
        dag_of(f"schedule: '{schedule}'\n")
    assert raised.value.field == "schedule"


def test_the_dag_serialises_the_same_way_each_time() -> None:
    more = "schedule: '@daily'\nairflow: {tags: [b, a, c]}\n"
    first, second = (DagSerialization.to_dict(dag_of(more)) for _ in range(2))
    assert first == second
