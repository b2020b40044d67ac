"""`tidemill drop`: what goes, what stays, and what a run makes of a drop that was killed."""

from __future__ import annotations

import os
import signal

import pytest

from tests.cli.conftest import Tidemill
from tests.support.doctor_report import look, refused
from tests.support.histories.history_builder import NAME, History, read_rows, rows
from tidemill.contract.errors import ExitCode, LeaseHeld
from tidemill.contract.report import Outcome
from tidemill.steps.decisions.drop import drop, plan_drop
from tidemill.storage.lease import hold
from tidemill.storage.root_identity import is_registered

READER = """\
transform: none
sources:
  orders: {kind: table, pipeline: orders, schema: "id long, at timestamp"}
gate: {suite: none}
"""


@pytest.fixture(autouse=True)
def published(history: History) -> None:
    """Two published increments and one that waits; the pipeline is known in its root."""
    for number in (1, 2):
        history.increment(rows(number))
        history.publish()
    history.batch(rows(3))
    look(history)


def killed_after(history: History, paths: int, *, table: bool) -> bool:
    """Drop in a process that is killed once it has removed some paths; whether it was."""
    child = os.fork()
    if child == 0:
        for number, _ in enumerate(drop(history.layout, table=table, run_id="killed"), 1):
            if number == paths:
                # Its lease is left as it is, too.
                os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_the_table_stays_readable_and_no_run_starts_over_into_it(
    tidemill: Tidemill, history: History
) -> None:
    before = read_rows(history.layout.table)
    document = tidemill("drop", NAME, "--yes", "--json").json

    assert sorted(path.name for path in history.layout.home.iterdir()) == ["rejected", "table"]
    assert document["kept"] == [str(history.layout.rejected), str(history.layout.table)]
    assert document["starts_over"] is False
    assert read_rows(history.layout.table) == before
    assert refused(history)[0] == "PipelineFolderLost"


def test_with_the_table_the_next_run_starts_over(tidemill: Tidemill, history: History) -> None:
    assert tidemill("drop", NAME, "--yes").exit_code == ExitCode.DONE
    assert tidemill("drop", NAME, "--table", "--yes", "--json").json["starts_over"]

    assert not history.layout.home.exists()
    assert not (history.root / ".tidemill" / "dropped" / NAME).exists()
    assert look(history).outcome is Outcome.DONE


@pytest.mark.parametrize("table", [False, True])
def test_a_drop_that_is_killed_is_refused_to_runs_and_finished_by_the_next(
    history: History, table: bool
) -> None:
    for removed in (1, 1, 2):
        assert killed_after(history, removed, table=table)
        refused(history)
    assert not killed_after(history, 0, table=table)

    assert is_registered(history.layout) is not table
    assert not history.layout.lease.exists()
    assert history.layout.table.exists() is not table


def test_the_plan_names_targets_elsewhere_and_readers_of_the_table(history: History) -> None:
    history.write_spec(more="publish: [{kind: delta}, {kind: kafka, topic: t, conn_id: c}]")
    (history.project.specs / "reader.yaml").write_text(READER)
    plan = plan_drop(history.layout, table=True, environ=history.environ)

    assert plan.targets == ("kafka.c.t",)
    assert plan.readers == ("reader",)
    assert plan.spec == history.project.spec(NAME)
    assert [path.name for path in plan.removes][:2] == ["checkpoints", "ledger"]
    assert plan.removes[-1] == history.layout.lease


def test_it_needs_no_spec(tidemill: Tidemill, history: History) -> None:
    history.project.spec(NAME).unlink()

    assert tidemill("drop", NAME, "--table", "--yes").exit_code == ExitCode.DONE
    assert not history.layout.home.exists()


def test_a_pipeline_that_is_written_to_is_not_dropped(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.steps.decisions.drop.PATIENCE_SECONDS", 0)
    with hold(history.layout.lease, step="publish", run_id="r"), pytest.raises(LeaseHeld):
        next(drop(history.layout, table=True, run_id="rival"))
    assert history.layout.ledger("live-0001").is_dir()


def test_an_unknown_name_is_refused(tidemill: Tidemill) -> None:
    answer = tidemill("drop", "order", "--yes", "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NothingToDrop")
