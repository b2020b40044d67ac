"""Repairs of batch records that are missing in the ledger, or torn: Spark's logs tell them again.

A record is written again only where what it says can be proved: by the hash of the increment that
its batch was sealed into, or, before that, by the log's own entry of the batch.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tidemill.generations.checkpoint_snapshot import read_snapshots
from tidemill.generations.repairs.repair import EntryUnknown, Repair, unknown
from tidemill.generations.rows_read import inspected
from tidemill.increments.increments import Increments, hash_of_files
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Ledger, LedgerGap
from tidemill.ledger.sink_reader import read_committed
from tidemill.spark_logs.checkpoint import Checkpoint, read_checkpoint
from tidemill.spark_logs.sink_log import FilesOfBatchUnknown, SinkFile
from tidemill.spec.pipeline import Pipeline


class LostRecords:
    """The records of a generation that are missing or torn.

    Args:
        note: The note that begins the generation.
    """

    def __init__(self, pipeline: Pipeline, note: GenerationNote) -> None:
        self.layout = pipeline.layout
        self.note = note
        self.ledger = Ledger(self.layout, note.generation, partial(inspected, pipeline))
        self.lost = self.ledger.lost()

    def repairs(self) -> Iterator[Repair]:
        """The records to write again.

        Raises:
            EntryUnknown: nothing tells one of them, or what the logs tell is not what was sealed.
        """
        if not self.lost:
            return
        if self.note.writes == "nothing":
            raise self._unknown(self.lost[0], "its sink leaves no files that could be counted")
        found = {number: self._again(number) for number in self.lost}
        self._verify_sealed(found)
        for number, batch in found.items():
            file = self.ledger.folder / f"{number:06d}.json"
            why = "torn" if file.exists() else "missing"
            yield Repair(file, f"the record of batch {number} is {why}", batch.content())

    def _again(self, number: int) -> Batch:
        checkpoint = self._checkpoint_of(number)
        try:
            batch = self.ledger.from_logs(number, checkpoint, self._files_of(number))
        except LedgerGap as error:
            raise self._unknown(number, "a rollover asks for all records before it") from error
        # As the plan that a person has seen says it too.
        done = (checkpoint.path / "commits" / str(number)).stat().st_mtime
        return batch.model_copy(update={"committed": datetime.fromtimestamp(done, UTC)})

    def _checkpoint_of(self, number: int) -> Checkpoint:
        snapshots = (
            self.layout.snapshot(one.number) / "checkpoint"
            for one in reversed(read_snapshots(self.layout))
            if one.generation == self.note.generation and one.batch >= number
        )
        for place in (self.ledger.checkpoint, *snapshots):
            found = read_checkpoint(place)
            if number in found.offsets and number in found.commits:
                return found
        raise self._unknown(
            number, "Spark has forgotten its offsets, and no snapshot of the checkpoint has them"
        )

    def _files_of(self, number: int) -> tuple[SinkFile, ...]:
        log = read_committed(self.note, self.ledger.sink)
        try:
            return log.files_of(number)
        except FilesOfBatchUnknown as error:
            raise self._unknown(number, "the sink's log no longer tells its files") from error

    def _sealed(self) -> Iterator[tuple[int, Any]]:
        store = Increments(self.layout.increments)
        for number in store.numbers():
            sealed = store.sealed(number)
            if sealed.stored_in.generation == self.note.generation:
                yield number, sealed

    def _verify_sealed(self, found: Mapping[int, Batch]) -> None:
        for increment, sealed in self._sealed():
            place = sealed.stored_in
            within = range(place.first, place.last + 1)
            lost = [number for number in within if number in found]
            if not lost:
                continue
            batches = [found[n] if n in found else self.ledger.batches(n, n)[0] for n in within]
            if hash_of_files(batches, sealed.net) != sealed.files_hash:
                raise self._unknown(
                    lost[0],
                    f"its files are not those that were sealed as increment {increment:06d}",
                )

    def _unknown(self, number: int, why: str) -> EntryUnknown:
        folder = self.ledger.folder
        return unknown(folder / f"{number:06d}.json", why, folder, self.layout.name)
