"""What was put away is not looked at again, however long the past is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.listed_folders import listings
from tidemill.increments import settle
from tidemill.sources.files.clean_published import clean_sources
from tidemill.storage.lease import Lease, newest_epoch

# What is opened and listed below the folder that is watched; a hook cannot be taken away again.
WATCHED: list[Path] = []
SEEN: list[str] = []


def _see(event: str, arguments: tuple[Any, ...]) -> None:
    if WATCHED and event in ("open", "os.scandir", "os.listdir"):
        path = str(arguments[0])
        if path.startswith(str(WATCHED[0])):
            SEEN.append(path)


@pytest.fixture(scope="module", autouse=True)
def _hook() -> None:
    sys.addaudithook(_see)


@contextmanager
def watched(folder: Path) -> Iterator[list[str]]:
    """The paths below a folder that are opened and listed meanwhile."""
    SEEN.clear()
    WATCHED.append(folder)
    try:
        yield SEEN
    finally:
        WATCHED.clear()


def cleaning(home: Path, past: int) -> History:
    """A pipeline that has published, and put away, so many increments of one batch."""
    home.mkdir()
    history = History(home, source=", cleanSource: delete")
    history.increment(rows(1))
    history.publish()
    layout, ledger = history.layout, history.ledger.folder
    for number in range(1, past):
        seq = number + 1
        copied(ledger / "000000.json", ledger / f"{number:06d}.json", batch=number)
        for name in ("json", "done"):
            done = ledger / "cleaned" / f"000000.{name}"
            copied(done, done.with_name(f"{number:06d}.{name}"), batch=number)
        changes = {"seq": seq, "increment": seq, "first": number, "last": number}
        copied(layout.journal / "000001.json", layout.journal / f"{seq:06d}.json", **changes)
        applied = layout.journal / "000001.delta.json"
        copied(applied, layout.journal / f"{seq:06d}.delta.json", seq=seq)
    return history


def copied(document: Path, to: Path, **changes: Any) -> None:
    to.write_text(json.dumps({**json.loads(document.read_text()), **changes}))


def clean(history: History) -> tuple[dict[str, int], int]:
    """What became of files, and how many documents and folders were looked at for it."""
    lease = Lease(history.layout.lease, newest_epoch(history.layout.lease))
    run = history.run().holding(lease)
    with watched(history.root) as seen:
        counts = clean_sources(run, history.journal)
    return counts, len(seen)


def test_it_reads_as_much_after_a_long_past_as_after_a_short_one(tmp_path: Path) -> None:
    nothing = {"archived": 0, "deleted": 0, "kept": 0}
    looked = {}
    for past in (10, 80):
        history = cleaning(tmp_path / str(past), past)
        # Once over all of it, as after an upgrade: a few documents for each event.
        first, looked_first = clean(history)
        again, looked[past] = clean(history)
        assert first == again == nothing
        assert 2 * past < looked_first < 2 * past + 20
    assert looked[10] == looked[80] < 10


def test_after_settled_history_no_folder_of_documents_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "EVERY", 3)
    history = History(tmp_path, source=", cleanSource: delete")
    for number in range(7):
        history.increment(rows(number))
        history.publish()
    layout = history.layout
    folders = {layout.journal, history.ledger.folder / "cleaned", history.ledger.folder / "starts"}
    for expected in (set[Path](), {layout.journal}):
        history.increment(rows(8))
        with listings(layout.home) as listed:
            assert history.publish().facts["input"] == {"archived": 0, "deleted": 1, "kept": 0}
        assert folders.intersection(listed) == expected
        # Without a mark after what is settled the whole journal is gone through.
        for path in layout.journal.glob("*.cleaned"):
            path.unlink()


@pytest.mark.parametrize("lost", ["*.cleaned", "00000[23].cleaned"])
def test_nothing_depends_on_what_is_remembered(tmp_path: Path, lost: str) -> None:
    history = History(tmp_path, source=", cleanSource: delete")
    for number in range(3):
        history.increment(rows(number))
        assert history.publish().facts["input"]["deleted"] == 1
    for path in history.layout.journal.glob(lost):
        path.unlink()
    history.increment(rows(3))
    assert history.publish().facts["input"] == {"archived": 0, "deleted": 1, "kept": 0}


def test_a_ledger_that_was_set_back_is_gone_through_again(tmp_path: Path) -> None:
    history = History(tmp_path, source=", cleanSource: delete")
    history.increment(rows(1))
    history.publish()
    for path in (history.ledger.folder / "cleaned").iterdir():
        path.unlink()
    back = history.arrive("f0000.csv")
    (planned,) = history.ledger.batches(0, 0)[0].inputs
    assert back.exists()
    counts, _ = clean(history)
    # Another file than the one that the batch has read: it stays, and is said.
    assert counts == {"archived": 0, "deleted": 0, "kept": 1}
    assert planned.path == str(back)


def test_what_the_file_system_refused_is_asked_for_until_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(tmp_path, source=", cleanSource: delete")

    def refuses(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("tidemill.sources.files.clean_source.delete", refuses)
        history.increment(rows(1))
        history.publish()
    history.increment(rows(2))
    assert history.publish().facts["input"]["deleted"] == 2
