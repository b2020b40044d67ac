"""Doctor: "nothing new" is said of input that was really read, and of no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.doctor_report import look, refused
from tests.support.file_modes import modes_count
from tests.support.histories.history_builder import History, rows
from tidemill.contract.report import Outcome


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Two increments, published, whose files are in two folders."""
    history = History(tmp_path / "pipeline", source=", options: {recursiveFileLookup: true}")
    for name in ("a.csv", "sub/b.csv"):
        history.batch(rows(1), inputs=[history.arrive(name)])
        history.judge(history.seal().increment)
    history.publish()
    return history


@pytest.mark.parametrize("folder", [".", "sub"])
def test_a_folder_that_may_not_be_listed_stops_the_run(history: History, folder: str) -> None:
    locked = history.inputs / folder
    assert look(history).outcome is Outcome.SKIPPED
    locked.chmod(0)
    try:
        with modes_count():
            code, data = refused(history)
    finally:
        locked.chmod(0o700)
    assert (code, data["path"], data["field"]) == (
        "InputUnreadable",
        str(locked),
        "sources.orders.path",
    )


def test_an_empty_mount_point_in_the_place_of_the_input_stops_the_run(history: History) -> None:
    files = sorted(str(path) for path in history.inputs.rglob("*.csv"))
    history.inputs.rename(history.home / "disk")
    history.inputs.mkdir()
    code, data = refused(history)
    assert (code, data["files"]) == ("InputVanished", files)


def test_links_in_circles_stop_the_run(history: History) -> None:
    for link in ("one", "two"):
        (history.inputs / link).symlink_to(history.inputs)
    assert refused(history)[0] == "InputCircular"
