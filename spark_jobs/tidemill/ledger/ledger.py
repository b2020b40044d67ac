"""The ledger: what each committed batch read and wrote, kept for ever.

Spark's own logs forget: offsets and commits expire, compacted sink entries carry no batch id, and
the file source's number is not the batch id. So each batch is written down once, from those logs,
after it was committed and before the next query starts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.file_formats.written_format import WriteFormat
from tidemill.ledger.batch import Batch, Counts, InputFile, OutputFile, Start
from tidemill.ledger.known_files import KnownFiles
from tidemill.ledger.logged_batches import LoggedBatches
from tidemill.ledger.past_batches import PastBatches
from tidemill.ledger.settle import EVERY, settle_batches
from tidemill.ledger.settled_batches import last_settled, read_settled_batches
from tidemill.ledger.sink_reader import read_committed
from tidemill.ledger.start_list import StartList, read_start
from tidemill.ledger.static_pins import StaticPin
from tidemill.spark_logs.checkpoint import Checkpoint, read_checkpoint
from tidemill.spark_logs.sink_log import SinkFile
from tidemill.spark_logs.spark_files import spark_files, with_checksums
from tidemill.storage import documents
from tidemill.storage.sync import sync

__all__ = ["Batch", "Counts", "InputFile", "Ledger", "LedgerGap", "OutputFile", "Start"]


Inspect = Callable[[Batch], Batch]


class LedgerGap(Refused):
    """A committed batch is neither in the ledger nor in Spark's logs; carries `batch`."""


class Ledger:
    """The ledger of one generation.

    Args:
        inspect: Gets each batch before it is written down. It counts the rows of the files that the
            batch has read, and refuses what may not be.
    """

    def __init__(
        self,
        layout: Layout,
        generation: str,
        inspect: Inspect | None = None,
        clock: Clock = wall_clock,
    ) -> None:
        self.layout = layout
        self.generation = generation
        self._inspect = inspect
        self._clock = clock
        self.folder = layout.ledger(generation)
        self.start_folder = self.folder / "starts"
        self.sink = layout.sink(generation)
        self.checkpoint = layout.checkpoint(generation)
        self._known = KnownFiles(self.sink, self.batches)
        self._latest: int | None = None
        self._settled: int | None = None

    def latest(self, known: int | None = None) -> int:
        """The last batch written down, -1 where there is none.

        Args:
            known: A batch that is known to be there, so that earlier ones are not listed.
        """
        # Asked for several times a second while a query runs: found once, then gone on from.
        if self._latest is None:
            self._latest = last_settled(self.folder) if known is None else known
        self._latest = documents.newest(self.folder, self._latest)
        return -1 if self._latest is None else self._latest

    def batches(self, first: int = 0, last: int | None = None) -> list[Batch]:
        """Batches in order, all that are there or those up to `last`.

        Raises:
            LedgerGap: one of them is missing; without it its loss would go unnoticed.
        """
        found = []
        until = self.latest(first - 1 if first else None) if last is None else last
        for number in range(first, until + 1):
            found.append(self._read(number))
        return found

    def _read(self, number: int) -> Batch:
        path = self.folder / f"{number:06d}.json"
        try:
            batch = documents.read(path, Batch)
        except documents.TornDocument as error:
            raise documents.TornDocument(
                f"{path} is damaged.", remedy=self._repair(), path=path
            ) from error
        if batch is None:
            raise LedgerGap(f"{path} is missing.", remedy=self._repair(), batch=number)
        return batch

    def _repair(self) -> str:
        return (
            f"tidemill checkpoint repair {self.layout.name} writes it again where Spark's logs or "
            "a snapshot of the checkpoint still tell; else restore the ledger's newest backup."
        )

    def past(self) -> Sequence[Batch]:
        """All batches in order; older ones are read only where one of them is asked for.

        Raises:
            LedgerGap: one of them is missing. Where it was in a record already, this is noticed
                when the next record is due.
        """
        found = read_settled_batches(self.folder)
        if found is None:
            return self.batches()
        settled, index = found
        rest = self.batches(settled.last + 1)
        # So many would have been folded if every batch were there.
        if len(rest) >= EVERY:
            return self.batches()
        return PastBatches(settled, index, rest, self.batches)

    def settle(self, every: int = EVERY) -> None:
        """Fold the batches into a record, where enough were added and none is missing.

        Args:
            every: The number of batches that are enough.
        """
        if self._settled is not None and self.latest() - self._settled < every:
            return
        found = read_settled_batches(self.folder)
        self._settled = -1 if found is None else found[0].last
        due = self.latest() - self._settled >= every
        if due and len(documents.numbers(self.folder)) == self.latest() + 1:
            first = 0 if found is None else found[0].last + 1
            if not settle_batches(self.folder, self.batches(first), found):
                settle_batches(self.folder, self.batches(), None)
            self._settled = self.latest()

    def starts(self) -> Sequence[Start]:
        """The starts in order."""
        return StartList(self.start_folder)

    def table_schema(self, batch: Batch) -> dict[str, Any]:
        """The published columns when a batch was written, as Spark's JSON schema."""
        return read_start(self.start_folder, batch.start, batch.batch).table_schema

    def cleaned_sources(self, batch: Batch) -> tuple[str, ...]:
        """The sources whose files were to be put away when a batch was written."""
        found = documents.read(self.start_folder / f"{batch.start:06d}.json", Start)
        return () if found is None else found.cleaned_sources

    def cleaned_objects(self, batch: Batch) -> tuple[str, ...]:
        """The sources whose objects were to be put away when a batch was written."""
        found = documents.read(self.start_folder / f"{batch.start:06d}.json", Start)
        return () if found is None else found.cleaned_objects

    def written(self, batches: Iterable[Batch]) -> dict[int, WriteFormat]:
        """Batch -> how its files were written."""
        found = {batch.batch: batch.start for batch in batches}
        by_start = {start: read_start(self.start_folder, start) for start in {*found.values()}}
        return {batch: by_start[start].write_format for batch, start in found.items()}

    def pins_of(self, batch: int, starts: Sequence[Start] | None = None) -> dict[str, StaticPin]:
        """The pins of a planned batch, the same for each start that runs it.

        Args:
            starts: All, where they are known already.
        """
        planner = self.planner_of(batch, starts)
        return {} if planner is None else planner.static

    def planner_of(self, batch: int, starts: Sequence[Start] | None = None) -> Start | None:
        """The start that planned a batch; None where none is known.

        Args:
            starts: All, where they are known already.
        """
        found = self.starts() if starts is None else starts
        return next((start for start in reversed(found) if start.last_planned < batch), None)

    def next_start(self, epoch: int) -> int:
        """The number of a start under an epoch: later ones have greater numbers, always.

        A generation is built under a lease of its own, whose epochs are others.
        """
        return max(epoch, max(documents.numbers(self.start_folder), default=0) + 1)

    def start(self, start: Start) -> None:
        """Write down, before a query starts, what it runs with."""
        documents.put_if_absent(self.start_folder / f"{start.epoch:06d}.json", start)

    def complete(
        self,
        rows_in: Mapping[int, int] | None = None,
        upto: int | None = None,
        counts: Mapping[int, Counts] | None = None,
    ) -> list[Batch]:
        """Write down every committed batch that is not in the ledger yet.

        Args:
            rows_in: Batch -> rows read, for the batches whose progress was seen.
            upto: The last batch to write down; None for all that are committed.
            counts: Batch -> what the query counted, for a sink that leaves no files here.

        Returns:
            The batches written now, in order.

        Raises:
            Refused: one of Spark's logs is torn, moved or incomplete, or a batch has read what it
                may not have.
        """
        checkpoint = read_checkpoint(self.checkpoint)
        latest = self.latest()
        last = max(checkpoint.commits, default=-1) if upto is None else upto
        missing = sorted(n for n in checkpoint.commits if latest < n <= last)
        if not missing:
            return []
        for number in range(latest + 1, missing[-1] + 1):
            if number not in checkpoint.commits or number not in checkpoint.offsets:
                raise self._gap(number)
        logged = LoggedBatches(self, checkpoint, missing)
        log = read_committed(logged.note, self.sink)
        sync(spark_files(checkpoint, self.sink, missing), self.layout.root)
        written = []
        for number in missing:
            files = log.files_of(number, self._known)
            counted = log.rows_in(number)
            read = (rows_in or {}).get(number) if counted is None else counted
            batch = logged.batch(number, files, read, self._clock())
            if counts and number in counts:
                batch = _counted(batch, counts[number])
            batch = self._inspected(batch)
            sync(with_checksums(file.path for file in files), self.layout.root)
            self._known.add(file.path for file in files)
            written.append(documents.put_if_absent(self.folder / f"{number:06d}.json", batch))
        self.settle()
        return written

    def lost(self) -> list[int]:
        """The batches up to the last one whose record is missing or cannot be read."""
        files = ((n, self.folder / f"{n:06d}.json") for n in range(self.latest() + 1))
        return [n for n, file in files if documents.read_if_whole(file, Batch) is None]

    def from_logs(self, number: int, checkpoint: Checkpoint, files: tuple[SinkFile, ...]) -> Batch:
        """The record of a batch, as it is written down from Spark's logs.

        Args:
            checkpoint: One that still has the batch.
            files: Those that the batch has written.

        Raises:
            StartUnknown: nothing says what it was run with.
            Refused: it has read what it may not have.
        """
        logged = LoggedBatches(self, checkpoint, [number])
        return self._inspected(logged.batch(number, files, None, self._clock()))

    def _inspected(self, batch: Batch) -> Batch:
        return batch if self._inspect is None else self._inspect(batch)

    def _gap(self, batch: int) -> LedgerGap:
        return LedgerGap(
            f"Batch {batch} is missing in {self.folder}, and Spark's logs lack it.",
            remedy="Restore the ledger's newest backup.",
            batch=batch,
        )


def _counted(batch: Batch, counts: Counts) -> Batch:
    reasons = {reason: rows for reason, rows in counts.rejected.items() if rows}
    update = {"rows": counts.rows, "rejected": sum(reasons.values()), "reasons": reasons}
    return batch.model_copy(update=update)
