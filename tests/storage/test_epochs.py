"""Epochs that were given out before are used up one by one: none of them is given out again."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.support.histories.lease_holders import elsewhere, holder_of, write
from tidemill.contract.errors import LeaseHeld, LeaseLost
from tidemill.storage import documents
from tidemill.storage.epochs import use_up
from tidemill.storage.lease import current_holder, hold, newest_epoch
from tidemill.storage.processes import this_process


def epochs(folder: Path) -> list[int]:
    return [number for number, _ in documents.numbered(folder)]


@pytest.mark.parametrize("before", [0, 3])
def test_the_next_writer_gets_an_epoch_that_nobody_had(folder: Path, before: int) -> None:
    for _ in range(before):
        with hold(folder, step="publish", run_id="r"):
            pass
    assert use_up(folder, 12, "repair") == 12
    assert current_holder(folder) is None
    with hold(folder, step="publish", run_id="r", patience=0) as held:
        assert held.epoch == 13
    assert epochs(folder) == list(range(1, 14))


def test_a_lease_that_is_new_enough_loses_one_epoch_only(folder: Path) -> None:
    write(folder, holder_of(this_process().model_copy(update={"started": 0.0}), epoch=7))
    assert use_up(folder, 7, "repair") == 8


def test_a_live_writer_is_not_robbed_of_its_lease(folder: Path) -> None:
    write(folder, holder_of(this_process()))
    with pytest.raises(LeaseHeld):
        use_up(folder, 12, "repair")
    assert newest_epoch(folder) == 1


def test_a_writer_that_takes_one_of_the_epochs_meanwhile_keeps_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def overtaken(source: Path, path: Path) -> None:
        if path.name == "000005.json" and not source.name.startswith("."):
            write(folder, holder_of(elsewhere(), epoch=5))
        link(source, path)

    monkeypatch.setattr(os, "link", overtaken)
    with pytest.raises(LeaseLost):
        use_up(folder, 12, "repair")
    assert epochs(folder) == [1, 2, 3, 4, 5]
    holder = current_holder(folder)
    assert holder is not None
    assert holder.run_id == "the other"


def test_a_document_that_has_as_many_names_as_it_may_have_is_written_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def at_most_three(source: Path, path: Path) -> None:
        if source.stat().st_nlink == 3:
            raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))
        link(source, path)

    monkeypatch.setattr(os, "link", at_most_three)
    assert use_up(folder, 12, "repair") == 12
    assert epochs(folder) == list(range(1, 13))
