"""A pipeline in a state that is refused: the command that the message names may go on from it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.doctor_report import look
from tests.support.histories.history_builder import History, rows
from tests.support.histories.refused_states import (
    file_of_a_published_batch_torn_and_gone,
    input_gone,
    journal_set_back,
    lost_its_race_without_a_request,
    planned_after_a_gap,
    published,
    rejected_rows_of_no_partition,
    rejected_while_it_was_rebuilt,
    started_over_beside_an_old_table,
    table_set_back,
)
from tests.support.remedies import carry_out
from tidemill.contract.errors import TidemillError
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.recompute.finality import refuse_not_final
from tidemill.engine.recompute.intervals import Extent
from tidemill.engine.recompute.replay import replay
from tidemill.engine.recompute.requested_partitions import (
    extent_of_partitions,
    resolve_partitions,
)
from tidemill.engine.recompute.strategy import can_recompute_in_batch
from tidemill.generations.repairs.plan import planned_repairs
from tidemill.generations.verify import open_generation
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import BatchRange
from tidemill.ledger.run_request import RunRequest
from tidemill.publish.target_heads import verify_tables
from tidemill.sources.static_files import pin_table
from tidemill.spec.static_inputs import TableStatic
from tidemill.steps.decisions.rebuild import rebuild
from tidemill.steps.decisions.withdraw import withdraw
from tidemill.steps.parts.take_over import take_over
from tidemill.steps.read_only.requalify import requalify

# Nothing is computed before these are refused.
NO_SPARK: Any = None
OF_ALL_TIMES = Extent(Partitions())
SCRATCH = BatchRange(generation="scratch", first=0, last=0)
REBUILD = RunRequest(role="rebuild", by="ada", reason="the rule was wrong")


@dataclass
class Case:
    """A refusal.

    Args:
        refused: What is refused in the state, as an exception or in the doctor's report.
        command: The command of the message.
        state: Brings the state about; a published increment where not given.
        first: What the message says to do before.
        then: What goes on after it.
        history: The arguments of the history.
    """

    refused: Callable[[History], object]
    command: str
    state: Callable[[History], object] = lambda history: published(history)
    first: Callable[[History], object] = lambda _: None
    then: Callable[[History], object] = lambda _: None
    history: dict[str, Any] = field(default_factory=dict)


def held(history: History) -> None:
    history.increment(rows(1), outcome="held")


def nothing(_: History) -> None:
    """A pipeline that never ran."""


def planned(pipeline_class: PipelineClass) -> Plan:
    return Plan(NO_SPARK, NO_SPARK, pipeline_class, "unsaferow")


def takes_over(history: History) -> None:
    with history.run("rebuild").hold("publish") as held:
        take_over(held, history.snapshot, history.snapshot.get(3))


def names_a_monday(history: History) -> None:
    extent_of_partitions(NO_SPARK, history.pipeline, [{"day": "2024-01-01"}, {"day": "monday"}])


def replays_rejected(history: History) -> None:
    resolve_partitions(NO_SPARK, history.pipeline, RunRequest(role="backfill", rejected=True))


def withdraws(history: History) -> None:
    withdraw(history.run("withdraw"), 1, by="ada", reason="bad")


def pins_its_table(history: History) -> None:
    static = TableStatic(kind="table", pipeline=history.name)
    pin_table("orders", static, history.root, history.home / "copies")


def tables_moved_away(history: History) -> None:
    """Both tables; the message names the command for the rejected one."""
    for table in (history.layout.table, history.layout.rejected):
        shutil.rmtree(table / "_delta_log")
    carry_out(history, "tidemill target repair orders delta", "target repair")


def judges_again(history: History) -> None:
    requalify(history.run("requalify"))


CASES = {
    "CommitsLost": Case(
        lambda history: open_generation(history.pipeline),
        "checkpoint repair",
        planned_after_a_gap,
        then=lambda history: open_generation(history.pipeline),
    ),
    "EntryUnknown": Case(
        lambda history: planned_repairs(history.pipeline),
        "rebuild",
        file_of_a_published_batch_torn_and_gone,
    ),
    "ExclusionsChanged": Case(takes_over, "rebuild", rejected_while_it_was_rebuilt),
    "HeadUnexplained": Case(
        lambda history: history.publish(),
        "drop",
        started_over_beside_an_old_table,
        first=lambda history: history.layout.home.rename(history.home / "away"),
        then=published,
    ),
    "InputLost": Case(
        lambda history: rebuild(history.run("rebuild"), REBUILD), "rebuild", input_gone
    ),
    "IntervalsChanged": Case(
        look,
        "rebuild",
        lambda history: (published(history), history.write_spec(more="timezone: Asia/Tokyo")),
    ),
    "KeepsState": Case(
        lambda history: can_recompute_in_batch(
            history.pipeline, planned(PipelineClass.WINDOW), [], None
        ),
        "redo",
        held,
        history={"pipeline_class": PipelineClass.WINDOW},
    ),
    "NoTable": Case(
        judges_again,
        "run",
        lambda history: history.increment(rows(1)),
        then=lambda history: (published(history), judges_again(history)),
    ),
    "NotFinal": Case(
        lambda history: refuse_not_final(history.pipeline, OF_ALL_TIMES, [], 0), "rebuild"
    ),
    "NotOurTurn": Case(
        lambda history: history.publish(),
        "target repair",
        table_set_back,
        then=lambda history: history.publish(),
    ),
    "NotPartly": Case(
        lambda history: replay(NO_SPARK, history.run(), NO_SPARK, SCRATCH, NO_SPARK),
        "rebuild",
        lambda history: (published(history), history.write_spec(output=", mode: complete")),
    ),
    "NotWithdrawable": Case(withdraws, "backfill"),
    "NothingAsked": Case(
        lambda history: history.publish("again"),
        "status",
        lost_its_race_without_a_request,
        then=lambda history: carry_out(history, "tidemill backfill orders", "backfill"),
    ),
    "NothingBound": Case(
        lambda history: planned_repairs(history.pipeline),
        "run",
        nothing,
        first=lambda history: history.arrive("a.csv"),
    ),
    "NothingRejected": Case(
        replays_rejected, "rows orders --rejected", rejected_rows_of_no_partition
    ),
    "OutputFormatChanged": Case(
        look,
        "rebuild",
        lambda history: (published(history), history.write_spec(output=", format: csv")),
        history={"more": "publish: [{kind: files}]"},
    ),
    "OutputModeChanged": Case(
        look,
        "rebuild",
        lambda history: (
            published(history),
            history.write_spec(output=", mode: update, keys: [id]"),
        ),
    ),
    "PartitionUntimed": Case(
        names_a_monday, "backfill", history={"pipeline_class": PipelineClass.WINDOW}
    ),
    "StaticMissing": Case(
        pins_its_table,
        "run",
        lambda history: history.increment(rows(1)),
        then=lambda history: (history.publish(), pins_its_table(history)),
    ),
    "TargetAheadOfJournal": Case(
        lambda history: verify_tables(history.pipeline),
        "target repair",
        journal_set_back,
        first=tables_moved_away,
        then=lambda history: (history.publish(), verify_tables(history.pipeline)),
    ),
    "Unbounded": Case(
        lambda history: can_recompute_in_batch(
            history.pipeline, planned(PipelineClass.UNBOUNDED), [], None
        ),
        "rebuild",
        history={"pipeline_class": PipelineClass.UNBOUNDED},
    ),
}


@pytest.mark.remedy(*CASES)
@pytest.mark.parametrize("code", CASES)
def test_what_the_message_says_to_type_goes_on(tmp_path: Path, code: str) -> None:
    case = CASES[code]
    history = History(tmp_path / "pipeline", **case.history)
    case.state(history)

    error = error_of(case.refused, history)

    assert error["code"] == code
    case.first(history)
    carry_out(history, error["remedy"], case.command)
    case.then(history)


def error_of(refused: Callable[[History], object], history: History) -> dict[str, Any]:
    """An error as a report has it."""
    try:
        report: Any = refused(history)
    except TidemillError as error:
        return error.as_dict()
    assert report.outcome is Outcome.REFUSED
    found: dict[str, Any] = report.error
    return found
