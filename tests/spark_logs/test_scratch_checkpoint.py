"""Whole files of the state come in place of lost ones, and a kill leaves nothing that is mixed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tests.spark_logs.test_state_files import write_checked
from tidemill.spark_logs.scratch_checkpoint import ScratchCheckpoint
from tidemill.spark_logs.state_files import damaged_state_files
from tidemill.spark_logs.state_versions import newest_whole, state_missing

# Three batches of a join in two partitions; what batch 1 left is damaged in the first.
STORES = ("0/0/left", "0/0/right", "0/1/left", "0/1/right")
LAST = 3
DAMAGED = "0/0/left/2.changelog"


class Killed(Exception):
    """The process ends here."""


@pytest.fixture
def live(tmp_path: Path) -> Path:
    checkpoint = tmp_path / "live"
    for store in STORES:
        for version in range(1, LAST + 1):
            write_checked(checkpoint / "state" / store / f"{version}.changelog", b"as before")
        write_checked(checkpoint / "state" / store / "2.zip", b"as before")
    for log in ("offsets", "commits", "sources/events"):
        for batch in range(LAST):
            write_checked(checkpoint / log / str(batch), b"as before")
    (checkpoint / "state" / DAMAGED).write_bytes(b"torn")
    (checkpoint / "state/0/0/left/2.zip").write_bytes(b"torn")
    return checkpoint


def scratch_of(live: Path, version: int) -> ScratchCheckpoint:
    """One in which the batches since a version have run again."""
    scratch = ScratchCheckpoint(live, live.parent / "scratch", version)
    shutil.rmtree(scratch.path, ignore_errors=True)
    scratch.begin(damaged_state_files(live))
    for batch in range(version, LAST):
        scratch.plan(batch)
    for store in STORES:
        for again in range(version + 1, LAST + 1):
            write_checked(scratch.path / "state" / store / f"{again}.changelog", b"once more")
    return scratch


def contents(live: Path, store: str) -> dict[str, bytes]:
    folder = live / "state" / store
    return {path.name: path.read_bytes() for path in folder.glob("[0-9]*")}


def mend(live: Path) -> None:
    damaged = damaged_state_files(live)
    version = newest_whole(live, LAST, damaged)
    assert version is not None
    scratch_of(live, version).hand_over(LAST, damaged)


def test_a_scratch_begins_with_the_newest_version_that_is_whole(live: Path) -> None:
    damaged = damaged_state_files(live)
    assert newest_whole(live, LAST, damaged) == 1
    scratch = scratch_of(live, 1)
    there = {str(p.relative_to(scratch.path)) for p in scratch.path.rglob("[0-9]*") if p.is_file()}
    assert {f"offsets/{n}" for n in range(3)} | {"commits/0"} <= there
    assert not there & {"commits/1", "commits/2", "state/0/1/left/2.zip"}


def test_only_the_partition_that_lacks_a_file_gets_other_files(live: Path) -> None:
    mend(live)
    assert not damaged_state_files(live)
    for store in STORES[:2]:
        assert contents(live, store) == {
            "1.changelog": b"as before",
            "2.changelog": b"once more",
            "3.changelog": b"once more",
        }
    for store in STORES[2:]:
        assert set(contents(live, store).values()) == {b"as before"}


def test_a_snapshot_in_place_of_changes_comes_with_its_data(live: Path) -> None:
    damaged = damaged_state_files(live)
    scratch = scratch_of(live, 1)
    for store in STORES:
        folder = scratch.path / "state" / store
        (folder / "3.changelog").unlink()
        write_checked(folder / "3.zip", b"once more")
        write_checked(folder / "SSTs" / "000018-new.sst", b"once more")
    scratch.hand_over(LAST, damaged)
    assert not state_missing(live, LAST, damaged_state_files(live))
    for store in STORES[:2]:
        assert contents(live, store)["3.zip"] == b"once more"
        assert (live / "state" / store / "SSTs" / "000018-new.sst").exists()
    for store in STORES[2:]:
        assert "3.zip" not in contents(live, store)
        assert not (live / "state" / store / "SSTs").exists()


@pytest.mark.parametrize("call", ["unlink", "replace"])
@pytest.mark.parametrize("number", range(1, 9))
def test_a_kill_while_files_are_put_leaves_none_of_two_attempts_that_loads(
    live: Path, call: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = damaged_state_files(live)
    scratch, made, whole = scratch_of(live, 1), 0, getattr(Path, call)

    def until_killed(path: Path, *args: object, **kwargs: object) -> object:
        nonlocal made
        made += 1
        if made > number:
            raise Killed
        return whole(path, *args, **kwargs)

    with monkeypatch.context() as killing:
        killing.setattr(Path, call, until_killed)
        with suppress(Killed):
            scratch.hand_over(LAST, damaged)
    still = damaged_state_files(live)
    if state_missing(live, LAST, still):
        mend(live)
    for store in STORES[:2]:
        found = contents(live, store)
        assert found["2.changelog"] == found["3.changelog"] == b"once more"
        assert "2.zip" not in found
    assert not state_missing(live, LAST, damaged_state_files(live))


def test_a_file_that_has_no_version_cannot_be_computed_again(live: Path) -> None:
    described = write_checked(live / "state/0/0/_metadata/schema", b"columns")
    assert newest_whole(live, LAST, [described]) is None


def test_a_partition_of_which_nothing_is_left_begins_with_the_first_batch(live: Path) -> None:
    for file in (live / "state/0/0/left").iterdir():
        file.unlink()
    (live / "state/0/1/left/3.changelog").unlink()
    assert newest_whole(live, LAST, [live / "state/0/1/left/3.changelog"]) == 0


def test_stores_of_which_nothing_is_left_in_any_partition_get_files_too(live: Path) -> None:
    for partition in "01":
        for file in (live / "state/0" / partition / "right").iterdir():
            file.unlink()
    lost = [live / "state/0/0/right/3.changelog", *damaged_state_files(live)]
    assert newest_whole(live, LAST, lost) == 0
    scratch_of(live, 0).hand_over(LAST, lost)
    for store in STORES:
        assert set(contents(live, store).values()) == {b"once more"}


def test_so_does_the_only_partition(tmp_path: Path) -> None:
    (tmp_path / "state/0/0").mkdir(parents=True)
    assert newest_whole(tmp_path, 1, [tmp_path / "state/0/0/1.changelog"]) == 0
