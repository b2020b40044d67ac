"""The newest epoch is found by name from the remembered one on, or by a list where that is gone."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.support.histories.lease_holders import elsewhere, holder_of, take_over
from tests.support.listed_folders import listings
from tidemill.storage import documents, lease
from tidemill.storage.epoch_hint import NAME, leave_hint, read_hint
from tidemill.storage.lease import current_holder, hold, newest_epoch

SOME = 300


@pytest.fixture
def long(folder: Path) -> Path:
    """A lease of so many epochs, the last of which was taken by `hold`."""
    folder.mkdir()
    for epoch in range(1, SOME):
        # Not as `documents` writes them: each would wait for the disk.
        content = holder_of(elsewhere(), epoch=epoch).content()
        (folder / f"{epoch:06d}.json").write_text(content)
    (folder / f"{SOME - 1:06d}.released").touch()
    take(folder)
    return folder


def take(folder: Path) -> int:
    with hold(folder, step="gate", run_id="r", patience=0) as held:
        return held.epoch


def remove_upto(folder: Path, last: int) -> None:
    """What upkeep does, the oldest first."""
    for path in sorted(path for path in folder.iterdir() if path.stem.isdecimal()):
        if int(path.stem) <= last:
            path.unlink()


def test_a_look_and_the_next_epoch_list_nothing(long: Path) -> None:
    with listings(long) as listed:
        assert newest_epoch(long) == SOME
        assert current_holder(long) is None
        assert take(long) == SOME + 1
    assert listed == []
    assert read_hint(long) == SOME + 1


@pytest.mark.parametrize("remembered", [1, 2, 7, SOME - 1, SOME, SOME + 1, 9999, None])
def test_whatever_is_remembered_the_newest_is_found(long: Path, remembered: int | None) -> None:
    (long / NAME).unlink()
    if remembered is not None:
        leave_hint(long, remembered)
    assert newest_epoch(long) == SOME
    remove_upto(long, SOME - 20)
    assert newest_epoch(long) == SOME
    assert take(long) == SOME + 1


def test_a_torn_hint_says_nothing(long: Path) -> None:
    (long / NAME).write_text("{")
    assert newest_epoch(long) == SOME
    assert take(long) == SOME + 1
    assert read_hint(long) == SOME + 1


def test_few_names_are_looked_for_however_far_the_newest_is(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Counter[str]()
    exists = documents.exists

    def counted(folder: Path, number: int) -> bool:
        calls["exists"] += 1
        return exists(folder, number)

    monkeypatch.setattr(documents, "exists", counted)
    assert newest_epoch(long, known=1) == SOME
    assert calls["exists"] < 4 * SOME.bit_length()


@pytest.mark.parametrize("at", range(1, 20, 3))
def test_epochs_that_upkeep_removes_during_a_look_hide_none(
    long: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    looks = 0
    exists = documents.exists

    def removing(folder: Path, number: int) -> bool:
        nonlocal looks
        looks += 1
        if looks == at:
            remove_upto(folder, SOME - 10)
        return exists(folder, number)

    monkeypatch.setattr(documents, "exists", removing)
    assert newest_epoch(long, known=3) == SOME


@pytest.mark.parametrize("before", [0, 3])
def test_a_writer_that_sleeps_before_it_takes_an_epoch_gets_none_that_upkeep_has_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    for _ in range(before):
        take(folder)
    look, slept = lease._look, False

    def sleepy(of: Path, known: int | None = None) -> object:
        nonlocal slept
        found = look(of, known)
        if not slept:
            slept = True
            for _ in range(20):
                take_over(of)
            remove_upto(of, before + 15)
        return found

    monkeypatch.setattr(lease, "_look", sleepy)
    with hold(folder, step="gate", run_id="sleepy", patience=0) as held:
        assert held.epoch == before + 21
        assert not documents.exists(folder, before + 1)
        held.check()


def test_a_disk_that_takes_no_hint_takes_the_epoch(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(documents, "replace", full)
    assert take(long) == SOME + 1
    assert (read_hint(long), newest_epoch(long)) == (SOME, SOME + 1)
