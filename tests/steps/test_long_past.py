"""What a run looks at after a long past: as many names and documents as after a short one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.long_history import long_history
from tests.support.listed_folders import listings
from tests.support.opened_files import opened_files
from tidemill.contract.report import Outcome
from tidemill.steps.doctor import doctor
from tidemill.steps.gate import gate
from tidemill.steps.parts.run import perform

# Enough for records of settled history, which both have then.
SHORT, LONG = 150, 1_500


@pytest.fixture(scope="module")
def pasts(tmp_path_factory: pytest.TempPathFactory) -> tuple[History, History]:
    home = tmp_path_factory.mktemp("pasts")
    return long_history(home / "short", SHORT), long_history(home / "long", LONG)


Looks = tuple[int, int]


def looks(history: History, act: Callable[[], object], *, but: tuple[Path, ...] = ()) -> Looks:
    """The number of names that are listed meanwhile, and of files that are opened.

    Args:
        but: Folders whose names are not counted.
    """
    with listings(history.root) as listed, opened_files(history.root) as opened:
        act()
    folders = [folder for folder in listed if folder not in but and folder.is_dir()]
    return sum(len([*folder.iterdir()]) for folder in folders), len(opened)


@pytest.mark.parametrize("step", ["doctor", "gate", "publish"])
def test_a_run_with_nothing_to_do(pasts: tuple[History, History], step: str) -> None:
    def run(history: History) -> None:
        if step == "publish":
            assert history.publish("idle").facts["published"] == []
        elif step == "gate":
            assert perform("gate", gate, history.run("idle")).outcome is Outcome.DONE
        else:
            assert perform("doctor", doctor, history.run("idle")).outcome is Outcome.SKIPPED

    short, long = (looks(history, lambda h=history: run(h)) for history in pasts)
    assert short == long


def test_a_small_increment(pasts: tuple[History, History]) -> None:
    seen = []
    for history in pasts:
        starts = history.ledger.folder / "starts"
        batch = looks(history, lambda h=history: h.batch(rows(3)), but=(starts,))
        increment = history.seal()
        history.judge(increment.increment)
        publish = looks(history, history.publish)
        assert history.ids() == [1, 2, 3]
        seen.append((batch, publish))
    short, long = seen
    assert short == long
