"""An open source: the questions about what it holds that every kind answers without a JVM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tidemill.contract.errors import TidemillError
from tidemill.contract.log import Log
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.sources.due import Due
from tidemill.sources.input_part import InputPart
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.offset_ranges import Range
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.base import BaseSource
from tidemill.spec.sources.kafka import Offsets
from tidemill.storage.run_context import LeasedRun

SourceSpec = TypeVar("SourceSpec", bound=BaseSource)


@dataclass(frozen=True)
class OpenSource(Generic[SourceSpec]):
    """A source of a pipeline.

    The answers here are those of a source that only a query can read, and that gives nothing twice.

    Args:
        spec: What the spec says of it.
    """

    name: str
    spec: SourceSpec
    pipeline: Pipeline
    environ: Mapping[str, str]

    def probe(self, batches: Sequence[Batch]) -> ProbeResult:
        """What waits at the source, and what Spark would pass over there.

        Raises:
            Refused: what the source holds cannot be read without loss.
            TransientError: the source cannot be reached.
        """
        return ProbeResult(self.name, new=None, unit="rows")

    def fetch(self, run: LeasedRun) -> None:
        """Before a query: bring what waits elsewhere to where the query reads it.

        Raises:
            Refused: it cannot be had.
            TransientError: the place cannot be reached.
        """

    def partitions(self) -> int | None:
        """How many tasks read it at the same time; None where Spark decides."""
        return self.spec.partitions

    def lost(self, part: InputPart) -> InputPart:
        """What the source no longer holds, or holds otherwise, of a part of its input.

        Raises:
            TransientError: the source cannot be reached.
        """
        return part

    def verify_held(self, generation: str, ranges: Sequence[Range]) -> None:
        """Verify that the source still holds records that batches have read.

        Args:
            generation: The generation whose batches they are.

        Raises:
            Refused: it does not, or holds others in their place.
            TransientError: the source cannot be reached.
        """

    def beginning(self, began: Offsets) -> Offsets | None:
        """The offsets from which a generation reads all of the published input that is there.

        Args:
            began: Topic -> partition -> the offset at which the published input begins.

        Returns:
            None where no offsets say where a source begins.
        """
        return None

    def version_read_again(self, last: Batch) -> int | None:
        """The version of a table whose rows a recomputation reads in place of those of the batches.

        Args:
            last: The last of the batches.

        Returns:
            None where the rows stay as they were read.
        """
        return None

    def due(self, snapshot: Snapshot) -> Due | None:
        """The partitions that are due since what was read has changed; None where none are.

        Args:
            snapshot: The history of the pipeline that reads the source.

        Raises:
            Refused: nothing says any more what has changed.
        """
        return None

    def refuse_replay(self, ranges: Sequence[Range], version: int) -> None:
        """Refuse to replay batches in their order where what they read was swapped since.

        Args:
            ranges: What the batches read, in their order.
            version: The version of the table that is read.

        Raises:
            Refused: it was.
        """

    def count(self, file: InputFile) -> int | None:
        """The rows of a file, counted without Spark; None where only Spark can tell.

        A row that is malformed counts too.
        """
        return None

    def inspect(self, files: Sequence[InputFile]) -> None:
        """Check what a batch has read: it may have arrived after the last probe.

        Raises:
            Refused: Spark misread a file, and the spec rates that `hold`.
        """

    def record_query(self, run: LeasedRun, result: ProbeResult) -> None:
        """Write down what a query is about to read."""

    def verify_query(self, generation: str) -> None:
        """After a query: verify that the source is still the one that the query began with.

        No gate judges what a query has committed for as long as this raises.

        Raises:
            Refused: it is another one, or gone.
            TransientError: the source cannot be reached.
        """

    def report(
        self, batches: Sequence[Batch], written: Sequence[Batch], log: Log
    ) -> ProbeResult | None:
        """After a query: what it read of the source, and what is there now.

        Args:
            batches: All of the generation.
            written: Those of the run.
            log: Gets a line for each problem that the spec rates `warn`.

        Returns:
            None where a ledger does not say what a batch has read.

        Raises:
            Refused: what was read has changed since, and the spec rates that `hold`.
        """
        return None

    def explain(self, failure: TidemillError) -> TidemillError | None:
        """What is wrong with the source, if that may be why a query failed; else None."""
        return None
