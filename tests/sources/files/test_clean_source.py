"""`cleanSource` with a gate: input is put away once consumers see its rows, and not before."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.support.histories.history_builder import History, rows
from tidemill.reporting.file_origin import origins
from tidemill.sources.files import clean_source
from tidemill.sources.files.clean_source import Cleaned, Cleaning, located
from tidemill.storage.documents import read

ARCHIVE = ", cleanSource: archive, sourceArchiveDir: %s"
DELETE = ", cleanSource: delete"


def archiving(home: Path) -> History:
    (home / "one").mkdir()
    return History(home / "one", source=ARCHIVE % (home / "archive"))


def deleting(home: Path) -> History:
    (home / "one").mkdir()
    return History(home / "one", source=DELETE)


def archived(history: History, file: Path) -> Path:
    return history.home.parent / "archive" / file.relative_to("/")


def batch_of(history: History, name: str, content: str = "id,at\n1,\n") -> Path:
    file = history.arrive(name, content)
    history.batch(rows(1), inputs=[file])
    return file


def test_published_input_is_archived_under_its_whole_path(tmp_path: Path) -> None:
    history = archiving(tmp_path)
    file = batch_of(history, "day/a.csv")
    history.judge(history.seal().increment)
    report = history.publish()
    assert not file.exists()
    assert archived(history, file).read_text() == "id,at\n1,\n"
    assert report.facts["input"] == {"archived": 1, "deleted": 0, "kept": 0}


def test_published_input_is_deleted(tmp_path: Path) -> None:
    history = deleting(tmp_path)
    file = batch_of(history, "a.csv")
    history.judge(history.seal().increment)
    assert history.publish().facts["input"] == {"archived": 0, "deleted": 1, "kept": 0}
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize("verdict", [None, "held"])
def test_input_that_nobody_sees_yet_stays(tmp_path: Path, verdict: Literal["held"] | None) -> None:
    history = deleting(tmp_path)
    seen = batch_of(history, "seen.csv")
    history.judge(history.seal().increment)
    waits = batch_of(history, "waits.csv")
    sealed = history.seal()
    if verdict is not None:
        history.judge(sealed.increment, verdict)
    unsealed = batch_of(history, "unsealed.csv")
    history.publish()
    assert [file.exists() for file in (seen, waits, unsealed)] == [False, True, True]


def test_a_file_that_changed_since_stays_and_is_said_once(tmp_path: Path) -> None:
    history = deleting(tmp_path)
    file = batch_of(history, "a.csv")
    file.write_text("id,at\n1,\n2,\n")
    history.judge(history.seal().increment)
    assert history.publish().facts["input"] == {"archived": 0, "deleted": 0, "kept": 1}
    assert file.exists()
    done = read(history.ledger.folder / "cleaned" / "000000.done", Cleaned)
    assert done is not None
    assert list(done.kept) == [str(file)]
    assert history.publish().facts["input"] == {"archived": 0, "deleted": 0, "kept": 0}


def test_what_was_read_before_the_spec_asked_for_it_stays(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    history = History(tmp_path / "one")
    before = batch_of(history, "before.csv")
    history.judge(history.seal().increment)
    history.publish()
    history.write_spec(source=DELETE)
    history.start()
    after = batch_of(history, "after.csv")
    history.judge(history.seal().increment)
    history.publish()
    assert [file.exists() for file in (before, after)] == [True, False]


def test_what_the_spec_no_longer_asks_for_is_not_done(tmp_path: Path) -> None:
    history = deleting(tmp_path)
    file = batch_of(history, "a.csv")
    history.judge(history.seal().increment)
    history.write_spec(source="")
    assert "input" not in history.publish().facts
    assert file.exists()


def test_a_plan_outlives_a_change_of_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = archiving(tmp_path)
    file = batch_of(history, "a.csv")
    history.judge(history.seal().increment)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(clean_source, "_put_away", dies)
        with pytest.raises(KeyboardInterrupt):
            history.publish()
    history.write_spec(source=ARCHIVE % (tmp_path / "other"))
    history.publish()
    assert archived(history, file).exists()
    planned = read(history.ledger.folder / "cleaned" / "000000.json", Cleaning)
    assert planned is not None
    assert [one.to for one in planned.files] == [str(archived(history, file))]


def test_a_file_system_that_refuses_fails_nothing_and_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = deleting(tmp_path)
    file = batch_of(history, "a.csv")
    history.judge(history.seal().increment)

    def refuses(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(clean_source, "delete", refuses)
        assert history.publish().facts["input"]["kept"] == 1
    assert file.exists()
    assert history.publish().facts["input"]["deleted"] == 1


def test_an_input_file_is_found_where_it_lies(tmp_path: Path) -> None:
    history = archiving(tmp_path)
    first, second = batch_of(history, "a.csv"), batch_of(history, "b.csv", "id,at\n22,\n")
    history.judge(history.seal().increment)
    (read_first,) = history.ledger.batches(0, 0)[0].inputs
    assert located(history.ledger, 0, read_first) == first
    history.publish()
    assert located(history.ledger, 0, read_first) == archived(history, first)
    for named in (first, archived(history, first)):
        (origin,) = origins(history.root, str(named))
        assert (origin.file, origin.now) == (first, archived(history, first))
    archived(history, second).unlink()
    (origin,) = origins(history.root, str(second))
    assert origin.now is None
