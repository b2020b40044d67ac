"""The heartbeat: it outlives a bad minute, and gives up before others take its holder for dead."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.histories.lease_holders import elsewhere, holder_of, write
from tests.support.listed_folders import listings
from tests.support.processes import wait_for
from tidemill.contract.errors import LeaseLost
from tidemill.storage import documents, heartbeat
from tidemill.storage.heartbeat import Heartbeat, check_epoch
from tidemill.storage.lease import Released, hold


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The monotonic clock that a heartbeat looks at."""
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(heartbeat, "time", clock)
    return clock


def never(lost: LeaseLost) -> None:
    raise AssertionError(lost)


def test_a_share_that_was_away_for_a_moment_does_not_end_the_heartbeat(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
    away, beat = folder.with_name("away"), folder / "000001.beat"
    with hold(folder, step="ingest", run_id="r", on_loss=never) as held:
        assert held.heartbeat is not None
        wait_for(beat.exists)
        folder.rename(away)
        wait_for(lambda: held.heartbeat.failed)
        away.rename(folder)
        last = beat.stat().st_mtime_ns
        wait_for(lambda: beat.stat().st_mtime_ns != last)
        held.check()
    released = documents.read(folder / "000001.released", Released)
    assert released is not None
    assert released.failed_beats == held.heartbeat.failed > 0


def test_failed_beats_are_said_in_the_log(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    beating = Heartbeat(folder / "not there", 7, 60, never)
    for _ in range(3):
        beating._beat()
    assert beating.failed == 3
    assert [record.args[-1] for record in caplog.records if record.args] == [1, 2, 3]


def test_a_holder_that_cannot_beat_gives_up_before_others_find_it_dead(
    folder: Path, clock: SimpleNamespace
) -> None:
    losses: list[LeaseLost] = []
    with hold(folder, step="ingest", run_id="r", time_limit=0.5, on_loss=losses.append) as held:
        folder.rename(folder.with_name("away"))
        clock.now = 0.2
        assert not losses
        clock.now = 0.3
        wait_for(lambda: losses)
        with pytest.raises(LeaseLost) as lost:
            held.check()
        folder.with_name("away").rename(folder)
    assert [one.newer for one in losses] == [lost.value.newer] == [None]


def test_a_holder_whose_share_is_away_makes_no_lease_of_its_own_in_its_place(
    folder: Path, clock: SimpleNamespace
) -> None:
    def write() -> None:
        with hold(folder, step="ingest", run_id="r", time_limit=0.5) as held:
            folder.rename(folder.with_name("away"))
            clock.now = 0.3
            held.check()

    with pytest.raises(LeaseLost):
        write()
    assert not folder.exists()


def test_a_process_that_was_paused_too_long_does_not_beat_again(
    folder: Path, clock: SimpleNamespace
) -> None:
    folder.mkdir()
    beating = Heartbeat(folder, 1, 60, never)
    beating._beat()
    stamp = (folder / "000001.beat").stat().st_mtime_ns
    clock.now = 31.0
    for _ in range(2):
        with pytest.raises(LeaseLost):
            beating._beat()
    assert (folder / "000001.beat").stat().st_mtime_ns == stamp


def test_a_beat_costs_three_system_calls_however_many_epochs_there_were(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for epoch in range(1, 101):
        write(folder, holder_of(elsewhere(), epoch=epoch))
    beating = Heartbeat(folder, 100, 60, never)
    beating._beat()
    calls = Counter[str]()
    for name in ("stat", "utime", "open", "listdir", "scandir"):
        monkeypatch.setattr(os, name, counting(calls, name, getattr(os, name)))
    beating._beat()
    monkeypatch.undo()
    assert calls == {"utime": 1, "stat": 2}


def test_a_writer_learns_of_its_loss_after_upkeep_has_removed_its_epoch_and_the_next(
    folder: Path,
) -> None:
    for epoch in range(1, 6):
        write(folder, holder_of(elsewhere(), epoch=epoch))
    for removed in (1, 2, 3):
        (folder / f"{removed:06d}.json").unlink()
    with pytest.raises(LeaseLost) as lost:
        check_epoch(folder, 2)
    assert lost.value.newer == 5
    check_epoch(folder, 5)


def counting(calls: Counter[str], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **options: Any) -> Any:
        calls[name] += 1
        return call(*arguments, **options)

    return counted


def test_a_writer_checks_its_lease_without_listing_the_epochs(folder: Path) -> None:
    with hold(folder, step="ingest", run_id="r") as held, listings(folder) as listed:
        held.check()
        write(folder, holder_of(elsewhere(), epoch=2))
        write(folder, holder_of(elsewhere(), epoch=3))
        with pytest.raises(LeaseLost) as lost:
            held.check()
    assert lost.value.newer == 3
    assert listed == []
