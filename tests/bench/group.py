"""A group of small pipelines against one of them alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.bench import orders
from tests.bench.measure import Cost, cost_of
from tests.bench.sides import CORES, Sides

MEMBERS = 10


class GroupSides(Sides):
    """Ten pipelines like `orders`, each with a file of its own, in one Spark application."""

    def __init__(self, home: Path, *, megabytes: float) -> None:
        super().__init__(home)
        self.names = [f"orders_{number}" for number in range(MEMBERS)]
        source = orders.SPEC["sources"]["orders"]
        for name in self.names:
            own = {"orders": {**source, "path": f"${{ORDERS_INPUT}}/{name}"}}
            orders.write_project(home / "project", name, sources=own, group="mill")
            orders.write_input(home / "input" / name, megabytes=megabytes, files=1)

    def ingest_of(self, members: int) -> Cost:
        """The cost of one ingest of the group's first members, as Airflow submits it."""
        self.fresh()
        names = self.names[:members]
        return cost_of([self.ingest(self._bytes(names), names)], self.our_environ)

    def run_of(self, members: int) -> Cost:
        """The cost of a whole run of the first members: `tidemill run` with their names."""
        self.fresh()
        tidemill = str(Path(sys.executable).with_name("tidemill"))
        run = [tidemill, "run", *self.names[:members]]
        return cost_of([run], {**self.environ, "TIDEMILL_MASTER": f"local[{CORES}]"})

    def tasks_of(self, members: int) -> Cost:
        """The same as Airflow's tasks."""
        self.fresh()
        names = self.names[:members]
        return cost_of(self.whole_run(self._bytes(names), names), self.our_environ)

    def _bytes(self, names: list[str]) -> int:
        files = (file for name in names for file in os.scandir(self.home / "input" / name))
        return sum(file.stat().st_size for file in files)
