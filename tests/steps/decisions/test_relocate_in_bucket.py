"""A root whose objects were moved to another bucket or folder, and relocated there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.s3 import S3
from tests.steps.decisions.test_relocate import GENERATION, assert_half_done_is_finished, past
from tests.support.histories.history_builder import History
from tests.support.histories.moved_history import Moved, assert_goes_on, fields_of_entries
from tests.support.remedies import carry_out
from tests.support.s3_root import history_in_bucket
from tidemill.contract.objects.object_path import ObjectPath, path_of
from tidemill.generations.verify import SinkElsewhere, open_generation
from tidemill.ledger.generation_note import read_note
from tidemill.steps.decisions.relocate import OldPlaceInUse
from tidemill.storage.folders import copy_folder, remove_folder


@pytest.fixture
def history(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> History:
    """A published increment, one that is still to go out, and a compact file in the log."""
    found = history_in_bucket(tmp_path, s3, monkeypatch)
    past(found)
    return found


def copied(history: History, s3: S3) -> Moved:
    """The objects of the root in another bucket, as a tool of the store copies them."""
    root = path_of(f"s3a://{s3.fresh_bucket()}/moved")
    assert isinstance(root, ObjectPath)
    prefix = f"{history.root.key}/"
    for key, content in s3.objects(history.root.bucket).items():
        s3.put(root.bucket, f"{root.key}/{key.removeprefix(prefix)}", content)
    return Moved(history, root)


@pytest.mark.remedy("SinkElsewhere")
def test_a_root_in_another_bucket_is_refused_and_goes_on_once_it_is_relocated(
    history: History, s3: S3
) -> None:
    published, entries = history.published(), fields_of_entries(history.sink)
    moved = copied(history, s3)
    remove_folder(history.root)
    with pytest.raises(SinkElsewhere) as refused:
        open_generation(moved.pipeline)

    carry_out(moved, refused.value.remedy, "relocate")

    assert moved.published() == published
    assert fields_of_entries(moved.layout.sink(GENERATION)) == entries
    assert not [
        key
        for key, text in s3.objects(moved.root.bucket).items()
        if _names(text, history.root, key)
    ]
    note = read_note(moved.layout, GENERATION)
    assert note is not None
    assert note.sink == moved.layout.sink(GENERATION)
    assert note.checkpoint == moved.layout.checkpoint(GENERATION)
    assert_goes_on(moved)


def _names(content: bytes, root: Path, key: str) -> bool:
    """Whether an object that is read by a step names a root; what only informs may."""
    return str(root).encode() in content and ("_spark_metadata" in key or "checkpoints/" in key)


@pytest.mark.remedy("RelocationUnfinished")
@pytest.mark.parametrize("files", [0, 1, 3])
def test_half_done_it_is_refused_to_everybody_else_and_finished_by_the_next(
    history: History, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    moved = assert_half_done_is_finished(history, monkeypatch, files)
    assert not moved.relocate().needed


def test_while_the_old_place_is_there_the_new_one_is_refused(history: History) -> None:
    copy = Moved(history, history.root.with_name("copy"))
    copy_folder(history.root, copy.root)
    with pytest.raises(OldPlaceInUse) as refused:
        copy.relocate()
    assert refused.value.origin == history.layout.home
    remove_folder(history.root)
    assert copy.relocate().needed
    assert open_generation(copy.pipeline).written == 2
