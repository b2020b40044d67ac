"""`tidemill vacuum` and `tidemill upkeep`: show first, remove with --apply, one pipeline or all."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import NAME, History, rows
from tests.support.histories.left_behind import age, leave_behind
from tests.support.table_reader import tree
from tidemill.contract.errors import ExitCode


@pytest.fixture
def past(history: History) -> History:
    history.increment(rows(1))
    history.publish()
    return history


def orphan(history: History) -> Path:
    path = history.sink / "day=2024-01-01" / "part-00000-dead.parquet"
    path.write_bytes(b"PAR1")
    age(path)
    return path


def test_it_shows_what_it_would_remove_and_removes_it_with_apply(
    past: History, tidemill: Tidemill
) -> None:
    left = leave_behind(past)
    before = tree(past.layout.home)
    shown = tidemill("vacuum", NAME, "--json")
    assert tree(past.layout.home) == before
    assert (shown.exit_code, shown.json["applied"]) == (0, False)
    (planned,) = shown.json["pipelines"]
    counts = {of["kind"]: of["count"] for of in planned["leftovers"]}
    assert counts == {kind: len(paths) for kind, paths in left.items()}
    (orphans,) = [of for of in planned["leftovers"] if of["kind"] == "orphan"]
    assert (orphans["files"], orphans["bytes"]) == (2, 8)
    done = tidemill("vacuum", NAME, "--apply", "--json")
    assert (done.exit_code, done.json["applied"]) == (0, True)
    assert not any(path.exists() for paths in left.values() for path in paths)
    assert tidemill("status", NAME, "--json").exit_code == 0
    assert tidemill("doctor", NAME, "--json").json["exit_code"] == 0
    assert tidemill("rows", NAME, "--json").exit_code == 0


def test_the_rows_of_csv_have_a_header(past: History, tidemill: Tidemill) -> None:
    orphan(past)
    (row,) = csv.DictReader(io.StringIO(tidemill("vacuum", NAME, "--csv").stdout))
    assert (row["pipeline"], row["count"], row["bytes"]) == (NAME, "1", "4")


def test_upkeep_goes_on_behind_a_pipeline_that_fails(past: History, tidemill: Tidemill) -> None:
    path = orphan(past)
    (past.root / "broken").mkdir()
    past.project.spec("broken").write_text("sources: {}\n")
    found = tidemill("upkeep", "--all", "--apply", "--json")
    by_name = {one["pipeline"]: one for one in found.json["pipelines"]}
    assert {*by_name} == {NAME, "broken"}
    assert by_name["broken"]["error"]["code"] == "SpecError"
    assert found.exit_code == by_name["broken"]["exit_code"] == found.json["exit_code"] != 0
    assert (by_name[NAME]["error"], by_name[NAME]["exit_code"]) == (None, 0)
    assert not path.exists()


def test_a_pipeline_that_another_process_writes_to_is_left_alone(
    past: History, tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = orphan(past)
    monkeypatch.setattr("tidemill.steps.upkeep.vacuum.PATIENCE_SECONDS", 0.0)
    with past.run("ingest").hold("ingest"):
        found = tidemill("upkeep", NAME, "--apply", "--json")
    assert found.pipeline["error"]["code"] == "LeaseHeld"
    assert path.exists()


@pytest.mark.parametrize("arguments", [(), (NAME, "--all")])
def test_either_a_pipeline_or_all_is_asked_for(
    past: History, tidemill: Tidemill, arguments: tuple[str, ...]
) -> None:
    assert tidemill("vacuum", *arguments).exit_code == ExitCode.USAGE
