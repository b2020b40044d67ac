"""What Airflow's Backfill dialog makes of a DAG's runs, by Airflow's own models, is what we do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG, Context
from airflow.sdk.definitions.param import process_params

from tests.support.spec_text import minimal
from tidemill.contract.layout import Layout
from tidemill.ledger.reprocessed_run import current_run_id
from tidemill.ledger.run_increment import remember
from tidemill.ledger.run_request import RunRequest, read_request
from tidemill.spec.pipeline import open_pipeline
from tidemill_airflow.airflow_internals.dag_models import queued_while_paused
from tidemill_airflow.integrity import DAG_FILE
from tidemill_airflow.local.metadata import forget

DRY = {"dry_run": True}
SCHEDULES = {"daily": "@daily", "weekly": "0 0 * * 0", "quarters": "*/15 * * * *"}
# What became of the runs of the 2nd and the 3rd; there is none of the 4th.
PAST = {2: "success", 3: "failed"}


def day(number: int) -> datetime:
    return datetime(2026, 3, number, tzinfo=UTC)


def run_id_of(number: int) -> str:
    """The id of the scheduled run of a day, which comes when the day is over."""
    return f"scheduled__{day(number + 1).isoformat()}"


class Dialog:
    """The dialog over a pipeline's DAG in Airflow's database.

    Args:
        dag: The DAG, as it is parsed.
        layout: Where its pipeline is.
    """

    def __init__(self, dag: DAG, layout: Layout) -> None:
        self.dag = dag
        self.layout = layout

    def has_run(self, number: int, state: str, days: int = 1) -> None:
        """There is a scheduled run of a day, which took in data if it ended well.

        Args:
            days: The length of its interval, by the schedule of that time.
        """
        from airflow.utils.state import DagRunState
        from airflow.utils.types import DagRunTriggeredByType, DagRunType

        with self._session() as session:
            self._stored(session).create_dagrun(
                run_id=run_id_of(number),
                logical_date=day(number),
                data_interval=(day(number), day(number + days)),
                run_after=day(number + 1),
                start_date=day(number + 1),
                run_type=DagRunType.SCHEDULED,
                triggered_by=DagRunTriggeredByType.TIMETABLE,
                state=DagRunState(state),
                session=session,
            )
        if state == "success":
            remember(self.layout.run(run_id_of(number)), number)

    def backfill(
        self,
        which: str,
        *,
        reverse: bool = False,
        at_once: int = 1,
        conf: dict[str, Any] | None = None,
        first: int = 2,
        last: int = 4,
    ) -> list[str]:
        """Click on Run Backfill; the ids of the runs that are queued, in order."""
        from airflow.models.backfill import BackfillDagRun, ReprocessBehavior, _create_backfill
        from airflow.models.dagrun import DagRun
        from sqlalchemy import select

        made = _create_backfill(
            dag_id=self.dag.dag_id,
            from_date=day(first),
            to_date=day(last),
            max_active_runs=at_once,
            reverse=reverse,
            dag_run_conf=conf,
            triggering_user_name="ada",
            reprocess_behavior=ReprocessBehavior(which),
        )
        with self._session() as session:
            query = (
                select(DagRun.run_id)
                .join(BackfillDagRun, BackfillDagRun.dag_run_id == DagRun.id)
                .where(BackfillDagRun.backfill_id == made.id)
                .order_by(BackfillDagRun.sort_ordinal)
            )
            return list(session.scalars(query))

    def is_over(self) -> None:
        """Every backfill and every run has ended."""
        from airflow.models.backfill import Backfill
        from airflow.models.dagrun import DagRun
        from airflow.utils.state import DagRunState
        from sqlalchemy import update

        with self._session() as session:
            session.execute(update(Backfill).values(completed_at=datetime.now(UTC)))
            runs = update(DagRun).where(DagRun.dag_id == self.dag.dag_id)
            session.execute(runs.values(state=DagRunState.SUCCESS))

    def pause(self, *, paused: bool) -> None:
        """Use the switch beside the DAG's name."""
        from airflow.models.dag import DagModel
        from sqlalchemy import update

        with self._session() as session:
            dag = update(DagModel).where(DagModel.dag_id == self.dag.dag_id)
            session.execute(dag.values(is_paused=paused))

    def waits_for_unpause(self) -> frozenset[str]:
        """The runs of which our pages say so."""
        with self._session() as session:
            return queued_while_paused(self.dag.dag_id, session)

    def schedule(self) -> tuple[set[str], list[tuple[str, str]]]:
        """One round of Airflow's scheduler; the runs of the DAG, and its tasks sent to be run."""
        from airflow.executors.local_executor import LocalExecutor
        from airflow.jobs.job import Job
        from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
        from airflow.models.dagrun import DagRun
        from airflow.models.taskinstance import TaskInstance
        from airflow.utils.state import DagRunState, TaskInstanceState
        from sqlalchemy import select

        # It is not started, so that it keeps what it is sent.
        scheduler = SchedulerJobRunner(Job(), executors=[LocalExecutor(parallelism=8)])
        scheduler._scheduler_use_job_schedule = False
        with self._session() as session:
            scheduler._do_scheduling(session)
        runs = select(DagRun.run_id).where(
            DagRun.dag_id == self.dag.dag_id, DagRun.state == DagRunState.RUNNING
        )
        sent = select(TaskInstance.run_id, TaskInstance.task_id).where(
            TaskInstance.dag_id == self.dag.dag_id, TaskInstance.state == TaskInstanceState.QUEUED
        )
        with self._session() as session:
            tasks = [(run_id, task) for run_id, task in session.execute(sent)]
            return {*session.scalars(runs)}, tasks

    def clear(self, run_id: str) -> None:
        """Clear a run with all its tasks."""
        with self._session() as session:
            self._stored(session).clear(run_id=run_id, session=session)

    def doctor(self, run_id: str) -> tuple[str, RunRequest]:
        """Fix what a run does, from what Airflow tells its task; the id in the books, and that."""
        from airflow.api_fastapi.execution_api.datamodels.taskinstance import DagRun as Told
        from airflow.models.dagrun import DagRun
        from sqlalchemy import select

        task: Any = self.dag.get_task("doctor")
        with self._session() as session:
            run = session.scalar(
                select(DagRun).where(DagRun.dag_id == self.dag.dag_id, DagRun.run_id == run_id)
            )
            told = Told.model_validate(run)
        params = process_params(self.dag, task, told.conf, suppress_exception=False)
        task.fix(
            open_pipeline(self.dag.dag_id),
            cast("Context", {"run_id": run_id, "dag_run": told, "params": params}),
        )
        current = current_run_id(self.layout, run_id)
        return current, read_request(self.layout.run(current))

    def _stored(self, session: Any) -> Any:
        from airflow.models.serialized_dag import SerializedDagModel

        found: Any = session.scalar(SerializedDagModel.latest_item_select_object(self.dag.dag_id))
        return found.dag

    def _session(self) -> Any:
        from airflow.utils.session import create_session

        return create_session()


@pytest.fixture(scope="module")
def parsed(
    airflow_database: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, DAG]]:
    """The DAGs of pipelines of several schedules, in Airflow's database."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import sync_bag_to_db

    project = tmp_path_factory.mktemp("project")
    specs = project / "dags" / "specs"
    specs.mkdir(parents=True)
    for name, schedule in SCHEDULES.items():
        (specs / f"{name}.yaml").write_text(minimal(f"schedule: '{schedule}'\n"))
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("TIDEMILL_PROJECTS", str(project))
        manager = DagBundlesManager()
        manager.sync_bundles_to_db()
        bag = DagBag(str(DAG_FILE))
        sync_bag_to_db(bag, next(iter(manager.get_all_dag_bundles())).name, None)
        yield {name: bag.dags[name] for name in SCHEDULES}
    for name in SCHEDULES:
        forget(name)


@pytest.fixture
def dialog_of(
    parsed: dict[str, DAG], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Dialog]]:
    """The dialog over a pipeline's DAG, which has no runs yet."""
    from airflow.models.backfill import Backfill, BackfillDagRun
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import delete

    monkeypatch.setenv("TIDEMILL_ROOT", str(tmp_path))
    yield lambda name: Dialog(parsed[name], Layout(tmp_path, name))
    with create_session() as session:
        session.execute(delete(BackfillDagRun))
        session.execute(delete(TaskInstance).where(TaskInstance.dag_id.in_(SCHEDULES)))
        session.execute(delete(DagRun).where(DagRun.dag_id.in_(SCHEDULES)))
        session.execute(delete(Backfill))


@pytest.fixture
def dialog(dialog_of: Callable[[str], Dialog]) -> Dialog:
    return dialog_of("daily")


@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize(
    ("which", "days"),
    [("none", [4]), ("failed", [3, 4]), ("completed", [2, 3, 4])],
    ids=["missing", "missing and errored", "all"],
)
def test_each_run_of_a_backfill_is_one_of_its_day(
    dialog: Dialog, which: str, days: list[int], reverse: bool
) -> None:
    for number, state in PAST.items():
        dialog.has_run(number, state)
        assert dialog.doctor(run_id_of(number))[1].role == "live"
    found = [dialog.doctor(run_id)[1] for run_id in dialog.backfill(which, reverse=reverse)]
    wanted = [(day(number), day(number + 1)) for number in days]
    assert [(one.start, one.end) for one in found] == (wanted[::-1] if reverse else wanted)
    assert {(one.role, one.dry_run) for one in found} == {("backfill", False)}


@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("at_once", [1, 2])
def test_as_many_runs_are_at_work_as_the_dialog_says_and_one_of_them_at_each_step(
    dialog: Dialog, at_once: int, reverse: bool
) -> None:
    for number, state in PAST.items():
        dialog.has_run(number, state)
    runs = dialog.backfill("completed", reverse=reverse, at_once=at_once)
    dialog.pause(paused=False)
    at_work, sent = dialog.schedule()
    assert at_work == {*runs[:at_once]}
    assert [task for _, task in sent] == ["doctor"]
    # The other one's doctor waits for it.
    assert dialog.schedule() == (at_work, sent)


def test_a_paused_dags_runs_wait_until_it_is_unpaused(dialog: Dialog) -> None:
    dialog.pause(paused=True)
    runs = dialog.backfill("none")
    assert dialog.schedule() == (set(), [])
    assert dialog.waits_for_unpause() == {*runs}
    dialog.pause(paused=False)
    assert dialog.waits_for_unpause() == frozenset()
    assert dialog.schedule()[0] == {*runs[:1]}


def test_a_run_that_took_in_data_and_is_reprocessed_has_another_id_in_the_books(
    dialog: Dialog,
) -> None:
    for number, state in PAST.items():
        dialog.has_run(number, state)
        dialog.doctor(run_id_of(number))
    ids = [dialog.doctor(run_id)[0] for run_id in dialog.backfill("completed", last=3)]
    # The failed one has taken in nothing.
    assert ids == [f"{run_id_of(2)}.reprocessed-1", run_id_of(3)]
    assert read_request(dialog.layout.run(run_id_of(2))).role == "live"


def test_a_clear_changes_no_runs_kind(dialog: Dialog) -> None:
    dialog.has_run(2, "success")
    dialog.clear(run_id_of(2))
    assert dialog.doctor(run_id_of(2))[1].role == "live"
    dialog.is_over()
    dialog.backfill("completed", last=2)
    first = dialog.doctor(run_id_of(2))
    dialog.clear(run_id_of(2))
    assert dialog.doctor(run_id_of(2)) == first
    assert first[1].role == "backfill"


def test_parameters_that_the_dialog_sends_count_for_runs_that_were_there_too(
    dialog: Dialog,
) -> None:
    dialog.has_run(2, "success")
    runs = dialog.backfill("completed", conf={**DRY, "reason": "a look"})
    assert [dialog.doctor(run_id)[1].dry_run for run_id in runs] == [True, True, True]
    assert {dialog.doctor(run_id)[1].reason for run_id in runs} == {"a look"}


def test_an_interval_of_several_days_is_one_backfill(dialog_of: Callable[[str], Dialog]) -> None:
    dialog = dialog_of("weekly")
    (run_id,) = dialog.backfill("none", first=1, last=7)
    _, request = dialog.doctor(run_id)
    assert (request.start, request.end) == (day(1), day(8))


@pytest.mark.parametrize(
    ("schedule", "days", "length"), [("weekly", 1, 7), ("daily", 7, 7), ("quarters", 1, 1)]
)
def test_after_a_change_of_the_schedule_a_run_is_of_all_that_either_says(
    dialog_of: Callable[[str], Dialog], schedule: str, days: int, length: int
) -> None:
    dialog = dialog_of(schedule)
    dialog.has_run(1, "success", days)
    (run_id,) = dialog.backfill("completed", first=1, last=1)
    assert run_id == run_id_of(1)
    _, request = dialog.doctor(run_id)
    assert (request.start, request.end) == (day(1), day(1 + length))


def test_a_schedule_of_quarters_of_an_hour_has_a_run_for_each(
    dialog_of: Callable[[str], Dialog],
) -> None:
    dialog = dialog_of("quarters")
    runs = dialog.backfill("none", first=2, last=3)
    found = [dialog.doctor(run_id)[1] for run_id in runs]
    quarter = timedelta(minutes=15)
    starts = [day(2) + number * quarter for number in range(97)]
    assert [(one.start, one.end) for one in found] == [(at, at + quarter) for at in starts]
