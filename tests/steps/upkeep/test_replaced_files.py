"""A table's own files that updates have replaced go after their retention, only if asked for."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from deltalake import DeltaTable

from tests.support.histories.history_builder import reject
from tests.support.histories.left_behind import age
from tests.support.histories.net_history_builder import NetHistory, count
from tidemill.contract.clock import wall_clock
from tidemill.steps.upkeep.vacuum import plan_vacuum, vacuum
from tidemill.storage.run_context import RunContext

RETENTION = "retention: {{replaced: {}}}"


def updated(home: Path, more: str) -> NetHistory:
    """A table in mode `update`, whose first file was replaced by the second."""
    home.mkdir(exist_ok=True)
    history = NetHistory(home, mode="update", keys=("action", "hour"), more=more)
    history.increment([count("open", 1, 1)], [reject("a")])
    history.publish()
    history.increment([count("open", 1, 2)], [reject("b")])
    history.publish()
    return history


def in_days(history: NetHistory, days: int) -> RunContext:
    return RunContext(
        history.pipeline, "later", print, clock=lambda: wall_clock() + timedelta(days=days)
    )


def test_without_a_retention_every_version_can_be_read(tmp_path: Path) -> None:
    history = updated(tmp_path, "")
    age(history.layout.home)
    assert [one for one in plan_vacuum(history.run()) if one.kind == "replaced"] == []


def test_files_of_the_newest_version_stay_and_young_ones_too(tmp_path: Path) -> None:
    history = updated(tmp_path, RETENTION.format("3 days"))
    own = {*history.layout.table.glob("*.parquet")}
    rejected = {*history.layout.rejected.glob("*.parquet")}
    now = {Path(uri) for uri in DeltaTable(history.layout.table).file_uris()}
    assert (len(own), len(own & now)) == (2, 1)
    assert [one for one in plan_vacuum(history.run()) if one.kind == "replaced"] == []
    dead = history.layout.table / "000009-killed.parquet"
    dead.write_bytes(b"PAR1")
    age(dead)
    seen = history.table()
    removed = vacuum(history.run())
    assert [one.path for one in removed if one.kind == "replaced"] == [dead]
    assert {*history.layout.table.glob("*.parquet")} == own
    assert {*history.layout.rejected.glob("*.parquet")} == rejected
    assert history.table() == seen


def test_an_attempt_that_no_manifest_names_is_an_orphan(tmp_path: Path) -> None:
    history = updated(tmp_path, "")
    dead = history.sink / "batch=1" / "attempt-000001-dead" / "part-00000-dead.parquet"
    dead.parent.mkdir()
    dead.write_bytes(b"PAR1")
    age(history.layout.home)
    seen = history.table()
    removed = vacuum(history.run())
    assert [one.path for one in removed] == [dead]
    history.increment([count("open", 1, 3)])
    history.publish()
    assert history.table() != seen
