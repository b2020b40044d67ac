"""The watermark that Spark should have had, from the rows alone.

Each source's is its latest event time less its delay, and never goes back within one start of the
query; the query's is the smallest of them (policy `min`) or the largest, and never goes back at
all. At a start every source begins at zero again, so that under `min` one that is silent holds the
others up (Structured Streaming guide, "Policy for handling multiple watermarks").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from tests.oracle.recorded import Taken


@dataclass(frozen=True)
class Watermarks:
    """How a pipeline's watermarks go.

    Args:
        delays: Source -> milliseconds.
        policy: `min` or `max`.
    """

    delays: Mapping[str, int]
    policy: str = "min"

    def after(
        self,
        batches: Sequence[Taken],
        times: Sequence[Mapping[str, Sequence[int]]],
        starts: Set[int],
        flushed: Mapping[int, int],
    ) -> list[int]:
        """The watermark after each batch.

        Args:
            batches: In order.
            times: For each batch, source -> the event times of its good rows, in milliseconds.
            starts: The batches with which a start of the query began.
            flushed: Batch -> the watermark that a person gave it.
        """
        choose = min if self.policy == "min" else max
        found, reached, current = [], dict.fromkeys(self.delays, 0), 0
        for batch, at in zip(batches, times, strict=True):
            if batch.number in starts:
                reached = dict.fromkeys(self.delays, 0)
            current = max(current, flushed.get(batch.number, 0))
            for source, delay in self.delays.items():
                if at.get(source):
                    reached[source] = max(reached[source], max(at[source]) - delay)
            current = max(current, choose(reached.values()))
            found.append(current)
        return found
