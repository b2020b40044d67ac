"""A generation: its note, its checkpoint, the sink's log and its ledger, as they were read."""

from dataclasses import dataclass

from tidemill.ledger.flushes import Flush, read_flush
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.checkpoint import Checkpoint
from tidemill.spark_logs.sink_contents import Committed


@dataclass(frozen=True)
class Generation:
    """A generation whose parts agree.

    Args:
        note: None before the first start.
        checkpoint: Spark's logs of what was planned and committed.
        log: The sink's log.
        ledger: Ours.
    """

    name: str
    note: GenerationNote | None
    checkpoint: Checkpoint
    log: Committed
    ledger: Ledger

    @property
    def committed(self) -> int:
        """The last committed batch, -1 for none."""
        return max(self.checkpoint.commits, default=-1)

    @property
    def planned(self) -> int:
        """The last planned batch, -1 for none."""
        return max(self.checkpoint.offsets, default=-1)

    @property
    def written(self) -> int:
        """The last batch that the sink holds, -1 for none; one without a record holds them all."""
        if self.note is not None and self.note.writes == "nothing":
            return self.committed
        return -1 if self.log.latest is None else self.log.latest

    @property
    def unfinished(self) -> bool:
        """Whether a planned batch awaits its commit."""
        return self.planned > self.committed

    @property
    def due(self) -> bool:
        """Whether windows, outer rows or timers are due that no batch has worked off."""
        if self.unfinished:
            return False
        latest = self.ledger.latest()
        return latest >= 0 and self.ledger.batches(latest)[-1].wake == "next_run"

    @property
    def flush(self) -> Flush | None:
        """The flush that awaits its batch."""
        return read_flush(self.ledger.layout, self.name, self.planned + 1)
