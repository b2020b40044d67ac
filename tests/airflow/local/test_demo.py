"""What `make demo` leaves; what it says, and `make up` on it, are the README's tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.support.checkout import Demo, somebody
from tidemill.contract.layout import Layout
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Journal
from tidemill_airflow.local.environment import Kept

NAME = "shop_orders"


@pytest.fixture
def kept(demo: Demo) -> Kept:
    """The folder in which the demo has run."""
    return demo.kept


def test_five_days_go_out_in_order_and_the_bad_one_by_a_release(kept: Kept) -> None:
    layout = Layout(kept.root, NAME)
    journal = Journal(layout.journal)
    assert [event.increment for event in journal.events()] == [1, 2, 3, 4, 5]
    assert [applied.version for applied in journal.published().values()] == [0, 1, 2, 3, 4]
    increments = Snapshot(layout).increments
    verdicts = [one.verdict.outcome for one in increments if one.verdict]
    assert verdicts == ["passed", "passed", "held", "passed", "passed"]
    assert [one.number for one in increments if one.release] == [3]
    # Each was sealed by the run of its own day, and the release by none of them.
    assert len({one.sealed.run_id for one in increments}) == 5


def test_the_demo_ends_in_a_table_of_so_many_rows(kept: Kept) -> None:
    layout = Layout(kept.root, NAME)
    assert DeltaTable(layout.table).to_pyarrow_table().num_rows == 2014
    assert DeltaTable(layout.rejected).to_pyarrow_table().num_rows == 25


def test_the_demo_is_refused_while_the_ui_is_up(kept: Kept) -> None:
    kept.pid_file.write_text(str(os.getpid()))
    try:
        command = [
            sys.executable,
            "-m",
            "tidemill_airflow.local.demo",
            "--folder",
            str(kept.folder),
        ]
        assert subprocess.run(command, env=somebody(), check=False).returncode == 2
    finally:
        kept.pid_file.unlink()
    assert Path(kept.root, NAME).is_dir()
