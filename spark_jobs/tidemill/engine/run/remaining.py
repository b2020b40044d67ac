"""How much of the input that waited when a query started is still to be read, and for how long."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidemill.ledger.batch import Batch
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.offset_ranges import as_offsets, between, records_in


@dataclass
class Remaining:
    """What is left at each source, batch by batch.

    Args:
        backlog: Source -> what waited; with availableNow Spark does not say.

    Attributes:
        units: Source -> what is left of it, in its own units; without those that cannot be counted.
    """

    backlog: Mapping[str, ProbeResult]
    units: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.units = {name: look.new for name, look in self.backlog.items() if look.new is not None}

    def take(self, batch: Batch) -> None:
        """Count what a batch has read."""
        for name in self.units:
            ends = self.backlog[name].facts.get("ends")
            if ends is not None:
                reached = as_offsets(batch.offsets.get(name))
                self.units[name] = records_in(between(reached, ends))
            else:
                read = sum(1 for file in batch.inputs if file.source == name)
                self.units[name] = max(0, self.units[name] - read)

    @property
    def done(self) -> float | None:
        """The share that was read, from 0 to 1, of the source that has read least of its own.

        None where nothing waited, or no source can be counted.
        """
        shares = [
            1 - left / look.new
            for name, left in self.units.items()
            if (look := self.backlog[name]).new
        ]
        return min(shares, default=None)

    def seconds_left(self, elapsed: float) -> float | None:
        """Seconds until all is read, at the pace so far; None before the first batch.

        Args:
            elapsed: Seconds since the query started.
        """
        return elapsed / self.done - elapsed if self.done else None

    def __str__(self) -> str:
        return "".join(
            f", {name}: {self.backlog[name].units(left)} left" for name, left in self.units.items()
        )
