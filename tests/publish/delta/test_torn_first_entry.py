"""A power cut tears the first commit of a table: no reader saw it, and it is made again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.doctor_report import look
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.report import Outcome


@pytest.mark.parametrize("kept", [0, 300], ids=["empty", "half"])
@pytest.mark.parametrize("torn", ["table", "rejected"])
def test_a_table_whose_first_commit_is_torn_is_made_anew(
    tmp_path: Path, torn: str, kept: int
) -> None:
    history = History(tmp_path / "pipeline")
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.journal.folder.joinpath("000001.delta.json").unlink()
    first = getattr(history.layout, torn) / "_delta_log" / f"{0:020d}.json"
    os.truncate(first, kept)
    if torn == "rejected":
        # It is committed, and synced, before the table.
        shutil.rmtree(history.layout.table / "_delta_log")
    assert history.ids() == []
    assert look(history).outcome is Outcome.DONE
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1], ["a"])
    assert look(history).outcome is Outcome.SKIPPED
