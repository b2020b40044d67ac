"""A backfill of one day: what it costs by the length of the history, with and without a bound."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.bench import orders
from tests.bench.measure import Cost, cost_of
from tests.bench.sides import CORES, Sides

FIRST = datetime(2025, 1, 1, tzinfo=UTC)
LATENESS = "1 day"


class BackfillSides(Sides):
    """A history of days, a file each that arrived on its day, and a pipeline that has taken it in.

    Args:
        home: The home of its own.
        days: The days of the history.
        megabytes: A day.
        bound: Whether the spec says how late rows come.
    """

    def __init__(self, home: Path, *, days: int, megabytes: float, bound: bool) -> None:
        super().__init__(home)
        self.days = days
        self._done = 0
        lateness = {"backfill": {"lateness": LATENESS}} if bound else {}
        orders.write_project(home / "project", **lateness)
        for number in range(days):
            day = FIRST + timedelta(days=number)
            orders.write_input(home / "input", megabytes=megabytes, files=1, day=day, first=number)
            noon = (day + timedelta(hours=12)).timestamp()
            os.utime(home / "input" / orders.file_name(number), (noon, noon))
        self._tidemill("run")

    def one_day(self) -> Cost:
        """The cost of a day's first backfill, from the middle of the history."""
        day = FIRST + timedelta(days=self.days // 2 + self._done)
        self._done += 1
        interval = (f"--from={day:%Y-%m-%d}", f"--to={day + timedelta(days=1):%Y-%m-%d}")
        return self._tidemill("backfill", *interval)

    def _tidemill(self, command: str, *arguments: str) -> Cost:
        tidemill = str(Path(sys.executable).with_name("tidemill"))
        environ = {**self.environ, "TIDEMILL_MASTER": f"local[{CORES}]"}
        return cost_of([[tidemill, command, orders.NAME, *arguments]], environ)
