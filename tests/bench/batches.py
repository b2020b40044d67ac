"""A run of a pipeline that has run thousands of batches of Spark, against one that has run few."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench import orders
from tests.bench.measure import Cost, cost_of
from tests.bench.results import Side, say
from tests.bench.sides import CORES, Sides
from tidemill.contract.counted import counted
from tidemill.contract.layout import Layout
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.ledger.ledger import Ledger

SHORT = 50
BATCHES_A_RUN = 150
# So that no rollover comes with the last run of 3,000 batches.
ROLLOVER_BATCHES = 800
# Some hundred rows.
MEGABYTES_A_FILE = 0.01


class BatchesPast(Sides):
    """A pipeline with a file a batch, which stays in the source's folder.

    Args:
        home: A folder; what an earlier process has run in it goes on.
        batches: How many it has run before anything is measured.
    """

    def __init__(self, home: Path, batches: int) -> None:
        home.mkdir(parents=True, exist_ok=True)
        super().__init__(home, begun=(home / "ours").is_dir())
        source = orders.SPEC["sources"]["orders"] | {"maxFilesPerTrigger": 1}
        rollover = {"after_batches": ROLLOVER_BATCHES}
        orders.write_project(home / "project", sources={"orders": source}, rollover=rollover)
        self.environ["TIDEMILL_MASTER"] = f"local[{CORES}]"
        self.layout = Layout(home / "ours", orders.NAME)
        while (done := self.batches) < batches:
            self.arrive(min(BATCHES_A_RUN, batches - done))
            cost = self.run()
            rollovers = counted(len(self.rollovers), "rollover")
            say(
                f"  {self.batches} of {batches} batches, {rollovers}: the last run took "
                f"{cost.cpu:.0f} CPU-s for {self.batches - done}"
            )

    @property
    def batches(self) -> int:
        latest = Ledger(self.layout, current(self.layout)).latest()
        return 0 if latest is None else latest + 1

    @property
    def rollovers(self) -> list[str]:
        found = read_takeovers(self.layout.home)
        return [one.generation for one in found if one.kind == "rollover"]

    def arrive(self, files: int) -> None:
        """Let so many more files arrive."""
        folder = self.home / "input"
        first = len([*folder.glob("*.csv")])
        megabytes = files * MEGABYTES_A_FILE
        orders.write_input(folder, megabytes=megabytes, files=files, first=first)

    def run(self) -> Cost:
        """The cost of doctor, ingest, gate and publish: one command, as a person types it."""
        tidemill = str(Path(sys.executable).with_name("tidemill"))
        return cost_of([[tidemill, "run", orders.NAME]], self.environ)

    def small_increment(self) -> Cost:
        self.arrive(1)
        before = self.batches
        cost = self.run()
        assert self.batches == before + 1
        return cost


def batches_sides(home: Path, batches: int) -> Callable[[str], tuple[Side, Side]]:
    """Idle runs or small increments of both pipelines, which are there at the first call."""
    made: list[BatchesPast] = []

    def sides(of: str) -> tuple[Side, Side]:
        if not made:
            made.extend((BatchesPast(home / "long", batches), BatchesPast(home / "short", SHORT)))
        long, short = made
        if of == "idle run":
            return long.run, short.run
        return long.small_increment, short.small_increment

    return sides
