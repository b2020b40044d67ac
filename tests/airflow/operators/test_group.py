"""A group of pipelines: one DAG, one ingest, and each member's own doctor, gate and publish."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, TriggerRule
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from tests.support.airflow.fake_dag_run import context_of
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.airflow.fake_step import leaving
from tests.support.spec_text import minimal, parse
from tidemill.contract import report as reports
from tidemill.contract.errors import SpecError
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Report, Step
from tidemill.ledger.reprocessed_run import next_run_id
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.spec.pipeline import open_pipeline
from tidemill_airflow.dag import build_group, dags
from tidemill_airflow.dags.house_rules import RULES, has_its_steps, swaps_only_what_it_published
from tidemill_airflow.operators.group import (
    IngestedOperator,
    Member,
    applications,
    conclude_group,
    members_with_work,
)
from tidemill_airflow.operators.ingest import GroupIngestOperator
from tidemill_airflow.operators.steps import DoctorOperator, GroupDoctorOperator
from tidemill_airflow.task_names import pipeline_of, step_of

GROUP = "group: small\nschedule: '@daily'\n"
RUN_ID = "scheduled__2026-03-01"


def members(*texts: str) -> list[Member]:
    return [
        Member(f"feed_{n}", parse(minimal(text)), Path(f"feed_{n}.yaml"))
        for n, text in enumerate(texts)
    ]


def group(*texts: str) -> DAG:
    return build_group("small", members(*texts))


def report(step: Step, outcome: Outcome, *, transient: bool = False) -> Report:
    now = datetime.now(UTC)
    error = None
    if outcome is Outcome.FAILED:
        error = {"code": "E", "what": "w", "remedy": "r", "transient": transient, "data": {}}
    return Report(
        pipeline="feed",
        run_id=RUN_ID,
        step=step,
        outcome=outcome,
        reason="so it is",
        started=now,
        finished=now,
        facts={},
        error=error,
    )


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for the specs of an own project, whose root is beside it."""
    specs = tmp_path / "dags" / "specs"
    specs.mkdir(parents=True)
    monkeypatch.setenv("TIDEMILL_ROOT", str(tmp_path))
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(tmp_path))
    return specs


def test_every_member_has_its_steps_around_one_ingest() -> None:
    dag = group(GROUP, GROUP)
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "doctor": {"feed_0.doctor", "feed_1.doctor"},
        "ingest": {"feed_0.ingested", "feed_1.ingested"},
        **{
            f"feed_{n}.{step}": {after}
            for n in (0, 1)
            for step, after in (
                ("doctor", "ingest"),
                ("ingested", f"feed_{n}.gate"),
                ("gate", f"feed_{n}.publish"),
            )
        },
        "feed_0.publish": set(),
        "feed_1.publish": set(),
    }


def test_it_keeps_the_house_rules() -> None:
    dag, (member, _) = group(GROUP, GROUP), members(GROUP, GROUP)
    assert [complaint for rule in RULES for complaint in rule(dag, member.spec)] == []


def test_a_missing_step_is_caught() -> None:
    dag, (member, _) = group(GROUP, GROUP), members(GROUP, GROUP)
    del dag.task_dict["feed_1.gate"]
    assert len(list(has_its_steps(dag, member.spec))) == 1


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ("group: small\nschedule: '@hourly'\n", "schedule"),
        (GROUP + "timezone: Europe/London\n", "timezone"),
        (GROUP + "spark: {conn_id: cluster}\n", "spark"),
        (GROUP + "airflow: {retries: 5}\n", "airflow"),
        (GROUP + "wake: {files: {poke: 1 minute}}\n", "wake"),
    ],
)
def test_members_agree_in_what_a_group_has_one_of(other: str, field: str) -> None:
    with pytest.raises(SpecError) as error:
        group(GROUP, other)
    assert (error.value.field, error.value.path) == (field, Path("feed_1.yaml"))


@pytest.mark.parametrize("name", ["small", "small__resolve"])
def test_a_group_is_not_called_like_another_dag(name: str) -> None:
    with pytest.raises(SpecError) as error:
        build_group(name, members(GROUP.replace("small", name)), taken=["small", "feed_0"])
    assert error.value.field == "group"


@pytest.mark.parametrize("name", ["doctor", "ingest"])
def test_a_member_is_not_called_like_a_task_of_the_group(name: str) -> None:
    with pytest.raises(SpecError) as error:
        build_group("small", [Member(name, parse(minimal(GROUP)), Path(f"{name}.yaml"))])
    assert (error.value.field, error.value.path) == ("group", Path(f"{name}.yaml"))


@pytest.mark.parametrize(("other", "may"), [("", True), ("sink: {kind: console}\n", False)])
def test_a_group_is_backfilled_as_a_whole_or_not_at_all(other: str, may: bool) -> None:
    dag, (_, last) = group(GROUP, GROUP + other), members(GROUP, GROUP + other)
    assert ("backfill" in {str(kind.value) for kind in dag.allowed_run_types or ()}) is may
    assert bool(dag.params) is may
    assert list(swaps_only_what_it_published(dag, last.spec)) == []


def test_what_is_computed_again_shares_its_application_with_nobody(
    tmp_path: Path, specs: Path
) -> None:
    names = ["one", "two", "three", "four"]
    for name in names:
        (specs / f"{name}.yaml").write_text(minimal(GROUP))
    pipelines = [open_pipeline(name) for name in names]
    for pipeline in pipelines[1:3]:
        asked = RunRequest(role="backfill", by="ada")
        fix_request(pipeline.layout.run(RUN_ID), asked)
    shared = [[one.name for one in those] for those in applications(pipelines, RUN_ID)]
    assert shared == [["one", "four"], ["two"], ["three"]]


def test_a_folder_of_specs_makes_a_dag_for_the_group(tmp_path: Path) -> None:
    specs = tmp_path / "dags" / "specs"
    specs.mkdir(parents=True)
    for name, text in (("one", GROUP), ("two", GROUP), ("three", "")):
        (specs / f"{name}.yaml").write_text(minimal(text))
    found = {dag.dag_id for dag in dags({"TIDEMILL_PROJECTS": str(tmp_path)})}
    assert {"small", "three", "one__resolve", "two__resolve", "three__resolve"} <= found
    assert not {"one", "two", "small__resolve"} & found


def test_a_backfill_of_a_group_computes_each_member_by_itself(
    spark_submit: FakeSpark, project: Path, layout: Layout
) -> None:
    spark_submit.leaves(report("ingest", Outcome.DONE))
    folders = [Layout(layout.root, name).run(RUN_ID) for name in ("one", "two")]
    for folder in folders:
        (project / "dags" / "specs" / f"{folder.parents[1].name}.yaml").write_text(minimal(GROUP))
        fix_request(folder, RunRequest(role="backfill", by="ada"))
        reports.write(report("doctor", Outcome.DONE), folder)
    operator = GroupIngestOperator(
        task_id="ingest", group="small", members=["one", "two"], conn_id="tidemill_spark"
    )
    operator.execute(context_of("backfill", RUN_ID))
    # The spark-submit of tests knows one pipeline a call.
    assert [reports.read(folder, "ingest") is not None for folder in folders] == [True, True]
    assert spark_submit.call["argv"][-2:] == ["two", f"--run-id={RUN_ID}"]


def test_a_member_that_took_in_data_is_reprocessed_under_an_id_of_its_own(
    spark_submit: FakeSpark, project: Path, layout: Layout
) -> None:
    spark_submit.leaves(report("ingest", Outcome.DONE))
    (project / "dags" / "specs" / "one.yaml").write_text(minimal(GROUP))
    own = Layout(layout.root, "one")
    folder = own.run(next_run_id(own, RUN_ID))
    fix_request(folder, RunRequest(role="backfill", by="ada"))
    reports.write(report("doctor", Outcome.DONE), folder)
    operator = GroupIngestOperator(
        task_id="ingest", group="small", members=["one"], conn_id="tidemill_spark"
    )
    operator.execute(context_of("backfill", RUN_ID))
    assert spark_submit.call["argv"][-2:] == ["one", f"--run-id={RUN_ID}.reprocessed-1"]
    context: Any = {"run_id": RUN_ID}
    done = IngestedOperator(task_id="ingested", pipeline="one").execute(context)
    assert done["outcome"] == "done"


def test_one_process_performs_the_doctors_of_all_and_each_ends_as_its_own(
    project: Path, layout: Layout
) -> None:
    (layout.root / "input").mkdir()
    (project / "dags" / "specs" / "broken.yaml").write_text("group: small\nsources: 3\n")
    names = ["one", "two", "broken"]
    for name in names[:2]:
        text = minimal(GROUP)
        (project / "dags" / "specs" / f"{name}.yaml").write_text(text)
    together = GroupDoctorOperator(task_id="doctor", group="small", members=names)
    together.execute(context_of("manual", RUN_ID))
    folders = [Layout(layout.root, name).run(RUN_ID) for name in names]
    found = [reports.read(folder, "doctor") for folder in folders]
    assert [one and one.pipeline for one in found] == ["one", "two", None]
    # The first try of its own task starts nothing, the second one does.
    operator = DoctorOperator(task_id="doctor", pipeline="one")
    operator.command = leaving(folders[0].parent, report("doctor", Outcome.DONE))
    with pytest.raises((AirflowSkipException, AirflowFailException)) as ended:
        operator.execute(context_of("manual", RUN_ID))
    assert found[0] is not None
    assert found[0].reason in str(ended.value)
    assert operator.execute(context_of("manual", RUN_ID))["outcome"] == "done"


@pytest.mark.parametrize("command", [("sh", "-c", "kill -9 $$"), ("no-such-program",)])
def test_a_doctor_of_all_that_is_killed_leaves_each_pipeline_to_its_own(
    project: Path, layout: Layout, command: tuple[str, ...]
) -> None:
    for name in ("one", "two"):
        (project / "dags" / "specs" / f"{name}.yaml").write_text(minimal(GROUP))
    together = GroupDoctorOperator(task_id="doctor", group="small", members=["one", "two"])
    together.command = lambda *_: command
    assert together.execute(context_of("manual", RUN_ID)) == {}
    operator = DoctorOperator(task_id="doctor", pipeline="one")
    runs = Layout(layout.root, "one").runs
    operator.command = leaving(runs, report("doctor", Outcome.DONE))
    assert operator.execute(context_of("manual", RUN_ID))["outcome"] == "done"


@pytest.mark.parametrize("name", ["small", "one__resolve", "three__resolve"])
def test_a_task_process_parses_its_own_dag_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    specs = tmp_path / "dags" / "specs"
    specs.mkdir(parents=True)
    for stem, text in (("one", GROUP), ("two", GROUP), ("three", "")):
        (specs / f"{stem}.yaml").write_text(minimal(text))
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", name)
    (dag,) = dags({"TIDEMILL_PROJECTS": str(tmp_path)})
    assert dag.dag_id == name
    assert ("one.doctor" in dag.task_dict) is ("two.doctor" in dag.task_dict) is (name == "small")


def test_a_task_knows_its_pipeline_and_step() -> None:
    assert (pipeline_of("small", "feed_0.gate"), step_of("feed_0.gate")) == ("feed_0", "gate")
    assert (pipeline_of("retail", "gate"), step_of("gate")) == ("retail", "gate")


def test_a_members_doctor_runs_where_that_of_all_has_failed() -> None:
    assert group(GROUP).task_dict["feed_0.doctor"].trigger_rule == TriggerRule.ALL_DONE


def test_the_ingest_is_tried_again_where_that_may_help_one() -> None:
    done = report("ingest", Outcome.DONE)
    hopeless = report("ingest", Outcome.FAILED)
    assert conclude_group([done, hopeless]) == {"feed": "failed"}
    with pytest.raises(AirflowException):
        conclude_group([done, report("ingest", Outcome.FAILED, transient=True)])


@pytest.mark.parametrize(
    ("found", "ends"),
    [
        ([report("doctor", Outcome.DONE), report("ingest", Outcome.DONE)], None),
        ([report("doctor", Outcome.SKIPPED)], AirflowSkipException),
        ([report("doctor", Outcome.REFUSED)], AirflowSkipException),
        (
            [report("doctor", Outcome.DONE), report("ingest", Outcome.FAILED)],
            AirflowFailException,
        ),
        ([report("doctor", Outcome.DONE)], AirflowException),
    ],
)
def test_ingested_ends_as_the_members_own_ingest_did(
    found: list[Report],
    ends: type[Exception] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    specs = tmp_path / "dags" / "specs"
    specs.mkdir(parents=True)
    (specs / "feed.yaml").write_text(minimal(GROUP))
    monkeypatch.setenv("TIDEMILL_ROOT", str(tmp_path))
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(tmp_path))
    for one in found:
        reports.write(one, Layout(tmp_path, "feed").run(RUN_ID))
    task, context = IngestedOperator(task_id="ingested", pipeline="feed"), {"run_id": RUN_ID}
    if ends is None:
        result: dict[str, Any] = task.execute(context)  # type: ignore[arg-type]
        assert result["outcome"] == "done"
        return
    with pytest.raises(ends):
        task.execute(context)  # type: ignore[arg-type]


def test_a_doctors_report_that_a_power_cut_tore_keeps_no_member_from_its_work(
    tmp_path: Path, specs: Path
) -> None:
    for name in ("torn", "idle", "killed"):
        (specs / f"{name}.yaml").write_text(minimal(GROUP))
    reports.write(report("doctor", Outcome.DONE), Layout(tmp_path, "torn").run(RUN_ID)).write_text(
        ""
    )
    reports.write(report("doctor", Outcome.SKIPPED), Layout(tmp_path, "idle").run(RUN_ID))
    working = members_with_work(["torn", "idle", "killed"], RUN_ID)
    assert [pipeline.name for pipeline in working] == ["torn"]
