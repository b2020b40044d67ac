"""What comparisons have found, printed and kept as soon as each is there."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.bench.measure import Cost
from tests.bench.sides import CORES

Side = Callable[[], Cost]


@dataclass(frozen=True)
class Comparison:
    """Two sides that do the same.

    Args:
        name: What is compared with what, for a reader of the results.
        prepare: Makes what both need, and returns ours and theirs; each is run several times.
        records: How many each side takes in, for its speed; None where that says nothing.
    """

    name: str
    prepare: Callable[[], tuple[Side, Side]]
    records: int | None = None


@dataclass(frozen=True)
class Result:
    """Medians of both sides, and the median of the ratios of runs made side by side."""

    name: str
    runs: int
    ours: Cost
    theirs: Cost
    ratio: Cost
    records: int | None


class Results:
    """The results so far.

    Args:
        file: Where they are kept as JSON; replaced after each of them.
        runs: Pairs of each comparison.

    Attributes:
        last: Name -> what the file held before; what is not measured again stays in it.
    """

    def __init__(self, file: Path, runs: int) -> None:
        self.file = file
        self.runs = runs
        self.last = {one["name"]: one for one in _read(file)}
        self.found: list[Result] = []

    def measure(self, comparison: Comparison) -> None:
        """Run both sides of a comparison in turn; say how far it is, and what came of it."""
        say(f"{comparison.name}: preparing")
        ours, theirs = comparison.prepare()
        pairs = []
        for number in range(1, self.runs + 1):
            pair = (ours(), theirs())
            pairs.append(pair)
            say(f"  pair {number} of {self.runs}: {text_of(pair[0])} against {text_of(pair[1])}")
        result = Result(
            comparison.name,
            self.runs,
            _median([mine for mine, _ in pairs]),
            _median([their for _, their in pairs]),
            _median([mine / their for mine, their in pairs]),
            comparison.records,
        )
        self.found.append(result)
        self._keep()
        last = self.last_cpu_ratio(comparison.name)
        before = "" if last is None else f" ({last:.2f} the last time)"
        ratio = f"{result.ratio.wall:.2f} by the clock, {result.ratio.cpu:.2f} in CPU-seconds"
        say(f"  ratio: {ratio}{before}, {result.ratio.memory:.2f} in memory")

    def last_cpu_ratio(self, name: str) -> float | None:
        """The ratio that was kept before this run; None for a new comparison."""
        return float(self.last[name]["ratio"]["cpu"]) if name in self.last else None

    def _keep(self) -> None:
        kept = self.last | {result.name: asdict(result) for result in self.found}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_name(f".{self.file.name}")
        draft.write_text(json.dumps([*kept.values()], indent=1))
        draft.replace(self.file)


def _read(file: Path) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = json.loads(file.read_bytes()) if file.is_file() else []
    return kept


def say(line: str) -> None:
    print(line, flush=True)


def text_of(cost: Cost) -> str:
    return f"{cost.wall:.1f} s, {cost.cpu:.1f} CPU-s, {cost.memory:.0f} MB"


def speed_of(result: Result) -> str:
    """Records per second of a core, by the clock and by the CPU-seconds that were used."""
    records = result.records or 0
    said = [
        f"{side} {records / cost.wall / CORES:,.0f} a second and core, "
        f"{records / cost.cpu:,.0f} a CPU-second"
        for side, cost in (("ours", result.ours), ("by hand", result.theirs))
    ]
    return f"{result.name}: {'; '.join(said)} (records, JVM start included)"


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.memory for cost in costs),
    )
