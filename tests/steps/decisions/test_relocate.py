"""A root that was moved: refused, relocated, and run on, with a kill at any file in between."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.histories.moved_history import Moved, assert_goes_on, fields_of_entries, move
from tests.support.remedies import carry_out
from tests.support.sample_rows import COLUMNS
from tests.support.table_reader import tree
from tidemill.contract.report import Outcome
from tidemill.generations.verify import SinkElsewhere, open_generation
from tidemill.ledger.generation_note import read_note
from tidemill.spark_logs.metadata_log import TornLogEntry
from tidemill.spark_logs.relocated_entry import EntryForeign
from tidemill.spark_logs.sink_log import SinkMoved
from tidemill.steps.decisions import relocate as step
from tidemill.steps.decisions.relocate import (
    NothingToRelocate,
    OldPlaceInUse,
    PathsPublished,
    plan_relocation,
    relocate,
)
from tidemill.storage.lease import hold
from tidemill.storage.relocations import RelocationUnfinished, unfinished_relocation
from tidemill.storage.root_identity import RootForeign, identity_file, verify_root

GENERATION = "live-0001"
ICEBERG = "publish: [{kind: delta}, {kind: iceberg, table: sales.orders, properties: {type: sql}}]"


def past(history: History) -> None:
    """A published increment, one that is still to go out, and a compact file in the log."""
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment([row(2), row(3)], [reject("b")])
    history.batch(rows(4))
    compact(history.sink / "_spark_metadata", 1)


def compact(log: Path, last: int) -> None:
    """Put the entries up to one into a compact file, as Spark does, and keep the others."""
    texts = [(log / str(number)).read_text().split("\n")[1:] for number in range(last + 1)]
    (log / f"{last}.compact").write_text("\n".join(["v1", *(line for of in texts for line in of)]))
    (log / str(last)).unlink()
    (log / f".{last}.compact.crc").write_bytes(b"of the text before")


class Killed(Exception):
    """Stands for the end of the process."""


@contextmanager
def killed_after(monkeypatch: pytest.MonkeyPatch, files: int) -> Iterator[None]:
    """The process ends before it writes one more file than these."""
    whole, left = step.put_whole, [files]

    def put(file: Path, text: str) -> None:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        whole(file, text)

    with monkeypatch.context() as patch:
        patch.setattr(step, "put_whole", put)
        with pytest.raises(Killed):
            yield


def assert_half_done_is_finished(
    history: History, monkeypatch: pytest.MonkeyPatch, files: int
) -> Moved:
    """A relocation that ends after some files is refused to others, and finished by the next."""
    entries = fields_of_entries(history.sink)
    moved = move(history)
    with killed_after(monkeypatch, files):
        moved.relocate()
    assert moved.ids() == [1]
    with pytest.raises(RelocationUnfinished):
        open_generation(moved.pipeline)
    lease = hold(moved.layout.lease, step="publish", run_id="publish")
    with pytest.raises(RelocationUnfinished) as refused, lease:
        pass
    carry_out(moved, refused.value.remedy, "relocate")
    assert unfinished_relocation(moved.layout.home) is None
    assert fields_of_entries(moved.layout.sink(GENERATION)) == entries
    assert moved.publish("after").outcome is Outcome.DONE
    assert moved.ids() == [1, 2, 3]
    return moved


@pytest.mark.remedy("SinkElsewhere")
def test_a_moved_root_is_refused_and_goes_on_once_it_is_relocated(history: History) -> None:
    past(history)
    verify_root(history.root, {})
    published, entries = history.published(), fields_of_entries(history.sink)
    moved = move(history)
    with pytest.raises(SinkElsewhere) as refused:
        open_generation(moved.pipeline)

    carry_out(moved, refused.value.remedy, "relocate")

    assert moved.published() == published
    assert fields_of_entries(moved.layout.sink(GENERATION)) == entries
    assert str(history.root) not in "".join(
        file.read_text() for file in moved.layout.table.glob("_*/_spark_metadata/[0-9]*")
    )
    note = read_note(moved.layout, GENERATION)
    assert note is not None
    assert note.sink == moved.layout.sink(GENERATION)
    assert note.checkpoint == moved.layout.checkpoint(GENERATION)
    assert_goes_on(moved)


@pytest.mark.remedy("SinkMoved")
def test_a_log_that_names_another_root_than_the_note_is_rewritten_too(history: History) -> None:
    past(history)
    entry, entries = history.sink / "_spark_metadata" / "2", fields_of_entries(history.sink)
    entry.write_text(entry.read_text().replace(str(history.root), "/was/here"))
    with pytest.raises(SinkMoved) as refused:
        open_generation(history.pipeline)
    carry_out(history, refused.value.remedy, "relocate")
    assert "/was/here" not in entry.read_text()
    assert fields_of_entries(history.sink) == entries


def test_a_plan_changes_nothing_and_a_second_relocation_finds_nothing(history: History) -> None:
    past(history)
    moved = move(history)
    before = tree(moved.root)
    plan = plan_relocation(moved.pipeline)
    assert tree(moved.root) == before
    assert (plan.origin, plan.home, plan.unfinished) == (
        history.layout.home,
        moved.layout.home,
        False,
    )
    assert (len(plan.entries), len(plan.notes)) == (3, 1)
    assert moved.relocate() == plan
    assert not moved.relocate().needed


def test_partitions_with_escaped_names_keep_them(make_history: Callable[..., History]) -> None:
    import pyarrow as pa

    history = make_history(columns=COLUMNS, partitions={"name": pa.string()})
    history.batch([{"id": 1, "at": None, "name": "a:b% ü=c"}])
    entries = fields_of_entries(history.sink)
    moved = move(history, "ü moved %41")
    moved.relocate()
    assert fields_of_entries(moved.layout.sink(GENERATION)) == entries
    assert all(one.path.is_file() for one in open_generation(moved.pipeline).log.files)


@pytest.mark.remedy("RelocationUnfinished")
@pytest.mark.parametrize("files", [0, 1, 3])
def test_half_done_it_is_refused_to_everybody_else_and_finished_by_the_next(
    history: History, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    past(history)
    assert_half_done_is_finished(history, monkeypatch, files)


def test_a_root_in_a_folder_of_any_name_is_refused_half_done(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    past(history)
    (history.home / "My Disk").mkdir()
    moved = move(history, "My Disk/moved")
    moved.relocate()
    further = Moved(history, moved.root.rename(history.home / "further"))
    with killed_after(monkeypatch, 1):
        further.relocate()
    with pytest.raises(RelocationUnfinished):
        open_generation(further.pipeline)


def test_a_root_that_is_moved_once_more_half_done_is_relocated_there(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    past(history)
    moved = move(history)
    with killed_after(monkeypatch, 1):
        moved.relocate()
    further = Moved(history, moved.root.rename(history.home / "further"))
    further.relocate()
    assert open_generation(further.pipeline).written == 2
    # And back to where it began.
    further.root.rename(history.root)
    relocate(history.pipeline, "back")
    assert open_generation(history.pipeline).written == 2


def test_a_torn_entry_is_left_for_its_own_repair(history: History) -> None:
    past(history)
    moved = move(history)
    (moved.layout.sink(GENERATION) / "_spark_metadata" / "2").write_text("")
    moved.relocate()
    with pytest.raises(TornLogEntry) as refused:
        open_generation(moved.pipeline)
    carry_out(moved, refused.value.remedy, "checkpoint repair")
    assert open_generation(moved.pipeline).written == 2


def test_a_batch_that_the_ledger_does_not_know_yet_is_rewritten_too(history: History) -> None:
    history.batch(rows(1))
    history.batch(rows(2), commit=False)
    moved = move(history)
    moved.relocate()
    assert [one.path.is_file() for one in open_generation(moved.pipeline).log.files] == [True, True]


def test_a_file_that_the_ledger_does_not_know_is_refused_before_anything_is_written(
    history: History,
) -> None:
    past(history)
    entry = history.sink / "_spark_metadata" / "2"
    entry.write_text(entry.read_text().replace("part-", "foreign-"))
    moved = move(history)
    before = tree(moved.layout.table)
    with pytest.raises(EntryForeign) as refused:
        moved.relocate()
    assert refused.value.file.name == "2"
    assert tree(moved.layout.table) == before
    assert unfinished_relocation(moved.layout.home) is None


def test_while_the_old_place_is_there_the_new_one_is_refused(history: History) -> None:
    past(history)
    copy = Moved(history, Path(shutil.copytree(history.root, history.home / "copy")))
    with pytest.raises(OldPlaceInUse) as refused:
        copy.relocate()
    assert refused.value.origin == history.layout.home
    shutil.rmtree(history.root)
    # A link to the new place is the new place.
    history.root.symlink_to(copy.root)
    assert copy.relocate().needed


def test_a_folder_of_another_root_is_refused(history: History) -> None:
    verify_root(history.root, {})
    own = identity_file(history.root).read_text()
    past(history)
    note = history.layout.note(GENERATION)
    note.write_text(note.read_text().replace('"root": null', '"root": "0badc0de"'))
    moved = move(history)
    with pytest.raises(RootForeign):
        moved.relocate()
    assert identity_file(moved.root).read_text() == own


def test_a_target_that_holds_the_paths_is_refused(
    make_history: Callable[..., History],
) -> None:
    history = make_history()
    past(history)
    history.write_spec(more=ICEBERG)
    moved = move(history)
    with pytest.raises(PathsPublished) as refused:
        moved.relocate()
    assert refused.value.target.startswith("iceberg")
    history.write_spec()
    assert moved.relocate().needed


def test_without_a_folder_there_is_nothing_to_relocate(history: History) -> None:
    with pytest.raises(NothingToRelocate):
        plan_relocation(history.pipeline)
