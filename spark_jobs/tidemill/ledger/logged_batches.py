"""Committed batches as Spark's logs tell of them, before they are written into the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tidemill.contract.pipeline_class import PipelineClass
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.input_file import taken_in
from tidemill.ledger.output_file import output_files
from tidemill.ledger.start_list import StartUnknown
from tidemill.spark_logs.checkpoint import Checkpoint, OffsetEntry
from tidemill.spark_logs.sink_log import SinkFile

if TYPE_CHECKING:
    from tidemill.ledger.ledger import Ledger


class LoggedBatches:
    """Some batches of a generation.

    Args:
        ledger: The generation's. It knows the starts, and with them what a batch was run with.
        checkpoint: One that has the batches.
        numbers: Which batches.

    Attributes:
        note: What the generation was begun with; None in a root of an early version.
    """

    def __init__(self, ledger: Ledger, checkpoint: Checkpoint, numbers: Sequence[int]) -> None:
        self._ledger = ledger
        self._checkpoint = checkpoint
        self._starts = ledger.starts()
        self._inputs = [
            (name, checkpoint.inputs(name))
            for name in _file_sources(checkpoint.offsets[number] for number in numbers)
        ]
        self.note = read_note(ledger.layout, ledger.generation)

    def batch(
        self, number: int, files: tuple[SinkFile, ...], rows_in: int | None, committed: datetime
    ) -> Batch:
        """The record of a batch.

        Args:
            files: Those that the batch has written.
            rows_in: How many rows it has read, where that is known.
            committed: When it was seen to be committed.

        Raises:
            StartUnknown: nothing says what it was run with.
        """
        offsets = self._checkpoint.offsets[number]
        start = next((one for one in reversed(self._starts) if one.last_written < number), None)
        if start is None:
            raise StartUnknown.of(self._ledger.start_folder, number)
        note = self.note
        outputs = output_files(
            files,
            self._ledger.sink,
            start.write_format,
            keeps_null=note is not None and note.null_partition == "keep",
        )
        batch = Batch(
            generation=self._ledger.generation,
            batch=number,
            offsets=dict(offsets.sources),
            inputs=tuple(
                taken_in(source, file, start.at, hashed=source in start.hashed_sources)
                for source, files in self._inputs
                for file in files.get(number, ())
            ),
            outputs=outputs,
            rows_in=rows_in,
            rows=sum(file.rows for file in outputs if not file.rejected),
            rejected=sum(file.rows for file in outputs if file.rejected),
            watermark_before_ms=offsets.watermark_ms,
            watermark_after_ms=self._checkpoint.commits[number].next_watermark_ms,
            static=self._ledger.pins_of(number, self._starts),
            start=start.epoch,
            run_id=start.run_id,
            spec_hash=start.spec_hash,
            code_hash=start.code_hash,
            committed=committed,
            rows_per_row=start.rows_per_row,
        )
        if note is not None and note.continuous:
            batch = self._named(batch)
        if note is not None and note.pipeline_class is not PipelineClass.MAP:
            batch = _waking(batch)
        return batch

    def _named(self, epoch: Batch) -> Batch:
        """A continuous epoch with its one source by name; Spark only numbers it."""
        names = [path.stem for path in (self._ledger.folder / "sources").glob("*.json")]
        if len(names) != 1:
            return epoch
        return epoch.model_copy(update={"offsets": {names[0]: epoch.offsets["0"]}})


def _waking(batch: Batch) -> Batch:
    """A batch of a query with state: what it moved the watermark past is for a batch to come."""
    due = batch.watermark_after_ms > batch.watermark_before_ms
    return batch.model_copy(update={"wake": "next_run"}) if due else batch


def _file_sources(planned: Iterable[OffsetEntry]) -> list[str]:
    """The sources whose offsets count the entries of a log of files."""
    return sorted(
        {
            name
            for entry in planned
            for name, offset in entry.sources.items()
            if isinstance(offset, dict) and "logOffset" in offset
        }
    )
