"""`tidemill relocate` shows what it would write, and writes with `--apply`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import NAME, History, reject, rows
from tests.support.histories.moved_history import Moved, move
from tests.support.table_reader import tree
from tidemill.contract.errors import ExitCode
from tidemill.generations.verify import open_generation


@pytest.fixture
def past(history: History) -> History:
    history.increment(rows(1), [reject("a")])
    history.publish()
    return history


@pytest.fixture
def moved(past: History, monkeypatch: pytest.MonkeyPatch) -> Moved:
    found = move(past)
    monkeypatch.setenv("TIDEMILL_ROOT", str(found.root))
    return found


def test_a_moved_root_is_shown_first_and_relocated_with_apply(
    tidemill: Tidemill, moved: Moved
) -> None:
    before = tree(moved.root)
    shown = tidemill("relocate", "--all", "--json")
    assert (shown.exit_code, shown.json["applied"]) == (ExitCode.DONE, False)
    assert tree(moved.root) == before
    done = tidemill("relocate", "--all", "--apply", "--json")
    assert (done.exit_code, done.json["applied"]) == (ExitCode.DONE, True)
    assert done.pipeline == shown.pipeline
    assert shown.pipeline == {
        "pipeline": NAME,
        "origin": str(moved.history.layout.home),
        "home": str(moved.layout.home),
        "entries": [str(moved.layout.sink("live-0001") / "_spark_metadata" / "0")],
        "notes": [str(moved.layout.note("live-0001"))],
        "unfinished": False,
        "needed": True,
    }
    again = tidemill("relocate", NAME, "--apply", "--json")
    assert again.pipeline["needed"] is False


def test_a_copy_is_shown_first_and_made_with_apply(
    tidemill: Tidemill, past: History, tmp_path: Path
) -> None:
    copy = Moved(past, tmp_path / "copy")
    words = ("relocate", NAME, "--copy-to", str(copy.root))
    shown = tidemill(*words, "--json")
    assert shown.pipeline["files"] == sum(1 for it in past.layout.home.rglob("*") if it.is_file())
    assert not copy.root.exists()
    done = tidemill(*words, "--apply", "--json")
    assert (done.exit_code, done.pipeline["home"]) == (ExitCode.DONE, str(copy.layout.home))
    assert open_generation(copy.pipeline).written == 0
    assert copy.ids() == past.ids() == [1]


@pytest.mark.parametrize("words", [(), (NAME, "--all")])
def test_it_needs_either_pipelines_or_all(
    tidemill: Tidemill, past: History, words: tuple[str, ...]
) -> None:
    assert tidemill("relocate", *words).exit_code == ExitCode.USAGE
