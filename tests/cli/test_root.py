"""`tidemill init` and `tidemill drop`: the ways on from a root or folder that was lost."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.conftest import Tidemill
from tests.support.doctor_report import look, refused
from tests.support.histories.history_builder import History, rows
from tidemill.contract.errors import ExitCode
from tidemill.contract.report import Outcome


@pytest.fixture(autouse=True)
def published(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    look(history)


@pytest.mark.remedy("RootNotInitialised")
def test_init_accepts_an_empty_folder_as_a_new_root(tidemill: Tidemill, history: History) -> None:
    history.root.rename(history.home / "disk")
    history.root.mkdir()
    assert refused(history)[0] == "RootNotInitialised"
    answer = tidemill("init", "--json")
    assert (answer.exit_code, answer.json["root"]) == (ExitCode.DONE, str(history.root))
    assert look(history).outcome is Outcome.DONE


def test_init_says_the_same_identity_each_time(tidemill: Tidemill) -> None:
    first = tidemill("init", "--json").json
    assert tidemill("init", "--json").json == first
    assert tidemill("init", "--id", "other", "--json").json["id"] == "other"


@pytest.mark.remedy("PipelineFolderLost")
def test_drop_lets_a_lost_pipeline_start_over(tidemill: Tidemill, history: History) -> None:
    shutil.rmtree(history.layout.home)
    assert refused(history)[0] == "PipelineFolderLost"
    assert tidemill("drop", "orders", "--table", "--yes", "--json").json["starts_over"]
    assert look(history).outcome is Outcome.DONE
