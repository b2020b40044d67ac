"""What happened before a step: pasts of a pipeline, written by hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from datetime import date

import pyarrow as pa
import pytest

from tests.support.histories.generation_builder import days, made_again, rebuilt, tail_redone
from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.histories.left_behind import end_long_ago, leave_behind, leave_snapshots
from tests.support.histories.moved_history import move
from tests.support.histories.net_history_builder import count
from tests.support.histories.spark_log_builder import write_commit
from tests.support.sample_rows import COLUMNS, Row
from tidemill.generations.build import begin_build
from tidemill.journal.journal import event_file
from tidemill.ledger.run_increment import remember
from tidemill.publish.delta.table_schema import SchemaChanged
from tidemill.publish.delta.target import DeltaTarget
from tidemill.steps.decisions.rename import rename
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import erase
from tidemill.storage import documents
from tidemill.storage.folders import rename_folder

# Runs, epochs and notices that a vacuum leaves.
KEPT = 4
OTHER_NAME = "was"
ERASED = "ann@example.org"
SECOND, THIRD = date(2024, 1, 2), date(2024, 1, 3)


def one_published_batch(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.publish()


def a_person_in_two_increments(history: History) -> None:
    """One is published; the other was released by words that name the person."""
    history.increment([row(1), row(2, text=ERASED)], [reject("a"), reject(f"2;{ERASED}")])
    history.publish()
    history.increment([row(3), row(4, SECOND, text=ERASED)], outcome="held")
    history.release(2, reason=f"known: {ERASED}")


def a_person_that_was_read_again_without(history: History) -> None:
    """An erasure was begun, and has sealed what it has read again; the rest is still to be done."""
    history.increment([row(1), row(2, text=ERASED)], [reject("a"), reject(f"2;{ERASED}")])
    history.publish()
    history.increment([row(3), row(4, SECOND, text=ERASED)], outcome="held")
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    begin_erasure(history, Condition({"text": (ERASED,)}, sources=("orders",)))
    read_again(history, [row(1), row(3)], [reject("z")])


def begin_erasure(history: History, condition: Condition) -> None:
    """Begin an erasure that is killed before it reads anything again."""
    place = "tidemill.steps.upkeep.erase.erase.rebuild_without"
    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(place, killed)
        erase(history.run("rebuild"), condition, by="ann", reason="a request")


def read_again(history: History, good: Iterable[Row], rejected: Iterable[Row] = ()) -> None:
    """A sealed rebuild of the run `rebuild`, neither born nor in the journal."""
    begin_build(history.pipeline, "rebuild", "rebuild")
    event = rebuilt(history, good, rejected=rejected)
    event_file(history.layout.journal, event.seq).unlink()
    for _, takeover in documents.numbered(history.layout.generations):
        takeover.unlink()
    remember(history.layout.run("rebuild"), event.increment)


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def a_root_that_was_moved(history: History) -> None:
    """Its paths were written for a root that is not there any more."""
    two_increments(history)
    moved = move(history, "was")
    moved.relocate()
    rename_folder(moved.root, history.root)


def a_pipeline_of_another_name(history: History) -> None:
    """Its folder has another name, which is not the first one that it had."""
    two_increments(history)
    rename(history.pipeline, OTHER_NAME, "rename")


def first_increment(history: History) -> None:
    history.increment(rows(1, 2), [reject("a")])


def two_increments(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment([row(2), row(5, SECOND)], [reject("b")])
    history.increment(rows(3))


def a_day_computed_again(history: History) -> None:
    history.increment(
        [row(1), row(2, SECOND), row(3, THIRD)], [reject("a", day="2024-01-02"), reject("x")]
    )
    history.increment([row(4), row(5, SECOND)])
    history.publish()
    made_again(
        history,
        [row(20, SECOND), row(21, SECOND)],
        [reject("n", day="2024-01-02")],
        partitions=days("2024-01-02"),
        replaces_rejects_of=("file:///in/x.csv",),
    )


def an_increment_to_reject(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.increment(rows(2), [reject("b")], outcome="held")
    history.increment(rows(3), [reject("c")])


def a_tail_computed_again(history: History) -> None:
    history.increment(rows(1))
    held = history.increment(rows(2), [reject("b")], outcome="held")
    behind = history.increment(rows(3))
    tail_redone(history, held, behind)


def everything_computed_again(history: History) -> None:
    history.increment([row(1), row(2, SECOND)], [reject("a")])
    history.increment([row(3)])
    history.publish()
    rebuilt(history, [row(1), row(2, SECOND)], [row(3), row(4)], rejected=[reject("z")])


def a_generation_that_is_to_take_over(history: History) -> None:
    history.increment([row(1), row(2, SECOND)], [reject("a")])
    history.publish()
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    begin_build(history.pipeline, "rebuild", "rebuild")
    event = rebuilt(history, [row(1), row(2, SECOND)], [row(4)], rejected=[reject("z")])
    # As it was before its publish: judged, neither born nor in the journal.
    event_file(history.layout.journal, event.seq).unlink()
    for _, takeover in documents.numbered(history.layout.generations):
        takeover.unlink()


def everything_with_other_partitions(history: History) -> None:
    history.increment([row(1), row(2, SECOND)], [reject("a")])
    history.increment([row(3)])
    history.publish()
    history.partitions = {"text": pa.string()}
    others = [field for field in COLUMNS if field.name != "text"]
    history.columns = pa.schema([*others, pa.field("day", pa.date32())])
    rebuilt(
        history,
        [row(1), row(2, SECOND)],
        [row(3)],
        rejected=[reject("z")],
        partition_by={"text": "expr(text)"},
    )


def three_increments_to_go_back_from(history: History) -> None:
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    for number, record in enumerate("abc", 1):
        history.increment(rows(number), [reject(record)])
        history.publish()
    history.increment(rows(4), outcome="held")


def updated_rows(history: History) -> None:
    history.increment([count("open", 1, 1), count("close", 1, 1)], [reject("a")])
    history.publish()
    history.increment([count("open", 1, 2), count("open", 2, 1)], [reject("b")])
    history.increment([count("close", 1, 5)])


def replaced_results(history: History) -> None:
    history.increment([count("open", 1, 1), count("open", 2, 1)], [reject("a")])
    history.publish()
    history.increment([count("open", 1, 2)], [reject("b")])
    history.increment([count("open", 1, 3), count("close", 1, 1)])


def two_batches_to_seal(history: History) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()
    history.batch([count("open", 1, 2)])
    history.batch([count("open", 1, 3), count("close", 1, 1)], [reject("r")])


def three_batches_that_the_ledger_lacks(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    for number in (1, 2, 3):
        history.batch(rows(number + 1), [reject(str(number))], commit=False)
    for number in (1, 2, 3):
        write_commit(history.checkpoint, number)


def a_held_increment(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), outcome="held")
    history.increment(rows(3))


def leftovers_of_every_kind(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.publish()
    leave_behind(history, KEPT)
    history.increment(rows(2))


def a_rollover_of_long_ago(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.publish()
    leave_snapshots(history)
    end_long_ago(history.layout)


def three_small_files(history: History) -> None:
    for number, record in enumerate("abc", 1):
        history.increment([row(number), row(10 * number, SECOND)], [reject(record)])
        history.publish()


def three_files_to_archive(history: History) -> None:
    for number in range(3):
        file = history.arrive(f"in{number}.csv", f"id,at\n{number},\n")
        history.batch(rows(number), inputs=[file])
    history.judge(history.seal().increment)


def a_lost_lease(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2))
    shutil.rmtree(history.layout.lease)


def a_power_cut(history: History) -> None:
    for number in (1, 2):
        history.increment(rows(number))
    for torn in ("commits/1", "offsets/1"):
        (history.checkpoint / torn).write_text("")
    (history.sink / "_spark_metadata" / "0").write_text("")


def a_target_that_was_set_back(history: History) -> None:
    """The newest entries of both tables' logs are empty, as after a power cut."""
    for number, rejected in ((1, "a"), (2, "b")):
        history.increment(rows(number), [reject(rejected)])
        history.publish()
    for table in (history.layout.table, history.layout.rejected):
        os.truncate(max((table / "_delta_log").glob("*.json")), 0)


def an_event_that_no_target_takes(history: History) -> None:
    """Two events wait in the journal; of the first the rejected rows were copied already."""
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), [reject("a")])
    history.increment(rows(3), [reject("b")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaTarget, "_commit", _refuse)
        history.publish()


def _refuse(*_: object) -> None:
    raise SchemaChanged("The columns do not fit.", remedy="Mend the transform.", changes=[])
