"""`tidemill rename` shows what it would do, and does it with `--apply`."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import NAME, History, reject, rows
from tests.support.table_reader import read_rows, tree
from tidemill.contract.errors import ExitCode
from tidemill.contract.layout import Layout

NEW = "sales"


@pytest.fixture
def past(history: History) -> History:
    history.increment(rows(1), [reject("a")])
    history.publish()
    return history


def test_a_rename_is_shown_first_and_done_with_apply(tidemill: Tidemill, past: History) -> None:
    before, published = tree(past.root), past.published()
    shown = tidemill("rename", NAME, NEW, "--json")
    assert (shown.exit_code, shown.json["dry_run"]) == (ExitCode.DONE, True)
    assert tree(past.root) == before
    done = tidemill("rename", NAME, NEW, "--apply", "--json")
    new = Layout(past.root, NEW)
    assert (done.exit_code, done.json["renamed_to"]) == (ExitCode.DONE, NEW)
    assert done.json["entries"] == [str(new.sink("live-0001") / "_spark_metadata" / "0")]
    assert done.json["notes"] == [str(new.note("live-0001"))]
    assert read_rows(new.table) == published
    again = tidemill("rename", NAME, NEW, "--apply")
    assert again.exit_code == ExitCode.USAGE


def test_the_spec_may_have_the_new_name_already(tidemill: Tidemill, past: History) -> None:
    shutil.move(past.project.spec(NAME), past.project.spec(NEW))
    done = tidemill("rename", NAME, NEW, "--apply", "--json")
    assert done.exit_code == ExitCode.DONE
    shown = tidemill("status", NEW, "--json")
    assert shown.exit_code == ExitCode.DONE
    assert shown.pipeline["pipeline"] == NEW
