"""`tidemill drill`: a pipeline bears kills, and a step that does not is found out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.servers.s3 import S3
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.s3_root import new_root
from tests.support.table_reader import tree
from tidemill.contract.errors import ExitCode
from tidemill.steps.read_only.drill import drill
from tidemill.steps.read_only.drill.moments import Moment
from tidemill.steps.read_only.drill.scratch_copy import ScratchCopy
from tidemill.storage.root_identity import initialise

# A step that publishes without asking whether it has: killed after its commit, it does so twice.
# The table is moved to its place whole, so that no kill comes before the commit.
CARELESS = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from deltalake import write_deltalake

step, home = sys.argv[1], Path(os.environ["TIDEMILL_ROOT"], "orders_drill")
if step == "publish":
    table, draft = home / "table", home.parent / "draft"
    again = table.exists()
    rows = pa.table({"id": ["a", "b"]})
    write_deltalake(table if again else draft, rows, mode="append")
    if not again:
        home.mkdir()
        draft.rename(table)
        if home.parent.name == "killed":
            signal.pause()
"""


@pytest.fixture
def drilled(mill: OrdersPipeline, monkeypatch: pytest.MonkeyPatch) -> OrdersPipeline:
    """A pipeline with two files of input, and a folder of its own for temporary files."""
    mill.deliver("1.csv", ["a,2,2026-03-01 10:00:00", "b,3,2026-03-02 10:00:00"])
    mill.deliver("2.csv", ["c,4,2026-03-01 11:00:00", "d,many,2026-03-01 11:00:00"])
    (mill.home / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(mill.home / "tmp"))
    return mill


@pytest.mark.usefixtures("child_jvm")
def test_a_run_that_is_killed_twice_publishes_the_same_rows_and_leaves_nothing_behind(
    drilled: OrdersPipeline, tidemill: Tidemill
) -> None:
    before = tree(drilled.home)
    answer = tidemill("drill", "orders", "--kills", "2", "--seed", "3", "--json")
    assert answer.exit_code == ExitCode.DONE, answer.stderr
    found = answer.json
    assert (found["equal"], found["seed"], found["left_out"]) == (True, 3, [])
    assert [(kill["step"], kill["done"]) for kill in found["kills"]] == [
        ("ingest", True),
        ("publish", True),
    ]
    assert {one["table"]: one["rows"] for one in found["tables"]} == {"table": 3, "rejected": 1}
    assert tree(drilled.home) == before


@pytest.mark.usefixtures("child_jvm")
def test_the_copy_of_a_pipeline_in_a_bucket_is_killed_there(
    drilled: OrdersPipeline, tidemill: Tidemill, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    drilled.url = new_root(s3, monkeypatch)
    monkeypatch.setenv("TIDEMILL_ROOT", drilled.url)
    initialise(drilled.root, environ={})
    before = s3.objects(drilled.root.bucket)
    # Chosen by hand: a process may end faster than a bucket is listed once more.
    moments = [
        Moment("ingest", "checkpoints/live-#/offsets/#", 1),
        Moment("publish", "lease/#.json", 3),
    ]
    monkeypatch.setattr(drill, "choose_moments", lambda *_: moments)
    answer = tidemill("drill", "orders", "--kills", "2", "--json")
    assert answer.exit_code == ExitCode.DONE, answer.stderr
    found = answer.json
    assert [(kill["step"], kill["done"]) for kill in found["kills"]] == [
        ("ingest", True),
        ("publish", True),
    ]
    assert all(kill["at"] for kill in found["kills"])
    assert {one["table"]: one["rows"] for one in found["tables"]} == {"table": 3, "rejected": 1}
    assert (found["equal"], found["folder"], found["roots"]) == (True, None, None)
    # Spark was killed, and had marked its folders.
    assert s3.objects(drilled.root.bucket) == before


def test_a_step_that_publishes_twice_after_a_kill_is_found_out(
    drilled: OrdersPipeline, tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ScratchCopy, "command", lambda _, step: (sys.executable, "-c", CARELESS, step)
    )
    answer = tidemill("drill", "orders", "--kills", "2", "--seed", "3", "--json")
    assert answer.exit_code == ExitCode.FAILED
    found = answer.json
    (table,) = found["tables"]
    assert (found["equal"], table["rows"], table["missing"], table["too_many"]) == (False, 2, 0, 2)
    assert [row["change"] for row in table["differences"]] == ["+", "+"]
    # For whoever looks into it.
    assert (Path(found["folder"]) / "killed").is_dir()


def test_a_pipeline_without_input_proves_nothing(mill: OrdersPipeline, tidemill: Tidemill) -> None:
    nothing = ("sh", "-c", "true")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScratchCopy, "command", lambda _, step: nothing)
        answer = tidemill("drill", "orders", "--into", str(mill.home / "copy"), "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.FAILED, "QuietRunFailed")
