"""A group of small pipelines against one of them alone."""

from __future__ import annotations

import os
from pathlib import Path

from tests.bench import orders
from tests.bench.measure import Command, Cost, cost_of
from tests.bench.sides import Sides

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

    def cost(self, members: int, *, whole: bool) -> Cost:
        """Of the first members of the group.

        Args:
            members: How many.
            whole: With the doctors, gates and publishes of each, not only the one ingest.
        """
        self.fresh()
        names = self.names[:members]
        commands = [self.ingest(self._bytes(names), names)]
        if whole:
            before = [self.step("doctor", name=name) for name in names]
            commands = [*before, *commands, *(step for name in names for step in self._after(name))]
        return cost_of(commands, self.environ)

    def _after(self, name: str) -> list[Command]:
        return [[*self.step("gate", name=name), "--no-spark"], self.step("publish", name=name)]

    def _bytes(self, names: list[str]) -> int:
        files = (file for name in names for file in os.scandir(self.home / "input" / name))
        return sum(file.stat().st_size for file in files)
