"""Input that was read and is gone: a disk that is not mounted must not look like a quiet feed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, rows
from tidemill.sources.kinds import open_source
from tidemill.spec.sources.base import Rating

RECURSIVE = ", options: {recursiveFileLookup: true}"


def problems(history: History) -> list[tuple[str, Rating, Path]]:
    found = open_source(history.pipeline, "orders").probe(history.ledger.batches()).problems
    return [(one.error.code, one.rating, one.error.data.get("folder")) for one in found]


def read(history: History, *names: str) -> None:
    for name in names:
        history.batch(rows(1), inputs=[history.arrive(name)])


def unmount(folder: Path, disk: Path) -> None:
    """Leave the mount point of a folder."""
    folder.rename(disk)
    folder.mkdir()


@pytest.mark.parametrize("rating", Rating)
def test_a_source_that_holds_nothing_of_what_was_read_is_rated_by_the_spec(
    tmp_path: Path, rating: Rating
) -> None:
    history = History(tmp_path, source=f", vanished: {rating}")
    read(history, "a.csv", "b.csv")
    unmount(history.inputs, tmp_path / "disk")
    ignored = rating is Rating.IGNORE
    expected = [] if ignored else [("InputVanished", rating, history.inputs)]
    assert problems(history) == expected


def test_so_it_is_when_other_files_lie_there(tmp_path: Path) -> None:
    history = History(tmp_path)
    read(history, "a.csv")
    unmount(history.inputs, tmp_path / "disk")
    history.arrive("of-another-disk.csv", "id,at\n5,\n")
    assert problems(history) == [("InputVanished", Rating.HOLD, history.inputs)]


def test_some_of_the_files_may_be_removed(tmp_path: Path) -> None:
    history = History(tmp_path)
    read(history, "a.csv", "b.csv")
    (history.inputs / "a.csv").unlink()
    assert problems(history) == []


def test_a_sub_folder_that_was_emptied_is_warned_of(tmp_path: Path) -> None:
    history = History(tmp_path, source=RECURSIVE)
    read(history, "a.csv", "shop/2024/b.csv")
    unmount(history.inputs / "shop", tmp_path / "disk")
    assert problems(history) == [("InputVanished", Rating.WARN, history.inputs / "shop")]


def test_a_sub_folder_that_was_removed_is_not_missed(tmp_path: Path) -> None:
    history = History(tmp_path, source=RECURSIVE)
    read(history, "a.csv", "day=1/b.csv")
    shutil.rmtree(history.inputs / "day=1")
    assert problems(history) == []


@pytest.mark.parametrize("still", [True, False])
def test_what_was_put_away_is_not_missed(tmp_path: Path, still: bool) -> None:
    history = History(tmp_path, source=", cleanSource: delete")
    read(history, "a.csv")
    if not still:
        history.source = ""
        history.write_spec()
    unmount(history.inputs, tmp_path / "disk")
    assert problems(history) == []


def test_files_that_the_spec_no_longer_reads_are_there(tmp_path: Path) -> None:
    history = History(tmp_path)
    read(history, "a.csv")
    history.source = ", options: {pathGlobFilter: '*.txt'}"
    history.write_spec()
    assert problems(history) == []


def test_a_file_that_is_known_by_its_name_may_lie_elsewhere(tmp_path: Path) -> None:
    history = History(tmp_path, source=f", fileNameOnly: true{RECURSIVE}")
    read(history, "a.csv")
    (history.inputs / "sub").mkdir()
    (history.inputs / "a.csv").rename(history.inputs / "sub" / "a.csv")
    assert problems(history) == []
