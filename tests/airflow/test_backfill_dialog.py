"""What Airflow's Backfill dialog makes of a DAG's runs, by Airflow's own models, is what we do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
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
from tidemill_airflow.integrity import DAG_FILE
from tidemill_airflow.local.metadata import forget

DRY = {"dry_run": True}
SCHEDULES = {"daily": "@daily", "weekly": "0 0 * * 0"}
# What became of the runs of the 2nd and the 3rd; there is none of the 4th.
PAST = {2: "success", 3: "failed"}


def day(number: int) -> datetime:
    return datetime(2026, 3, number, tzinfo=UTC)


def run_id_of(number: int) -> str:
    return f"scheduled__{day(number).isoformat()}"


class Dialog:
    """The dialog over a pipeline's DAG in Airflow's database.

    Args:
        dag: The DAG, as it is parsed.
        layout: Where its pipeline is.
    """

    def __init__(self, dag: DAG, layout: Layout) -> None:
        self.dag = dag
        self.layout = layout

    def has_run(self, number: int, state: str) -> None:
        """There is a scheduled run of a day, which took in data if it ended well."""
        from airflow.utils.state import DagRunState
        from airflow.utils.types import DagRunTriggeredByType, DagRunType

        with self._session() as session:
            self._stored(session).create_dagrun(
                run_id=run_id_of(number),
                logical_date=day(number),
                data_interval=(day(number), day(number + 1)),
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
            max_active_runs=1,
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
    """The DAGs of a daily and a weekly pipeline, in Airflow's database."""
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
