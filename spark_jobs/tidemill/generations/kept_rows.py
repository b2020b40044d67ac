"""The rows that a rewind keeps: a scratch generation that holds the published files by other names.

Nothing is computed or copied. Each file is linked into a sink of its own, so that the rows go out
like any that replace a whole table, and stay when the generation before them is cleared away.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.increments.rewind_point import RewindPoint
from tidemill.journal.event import Event
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.batch import Batch, OutputFile, Start
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.start_list import read_start
from tidemill.spark_logs.checkpoint_fork import link
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents
from tidemill.storage.sync import sync


class RowsNotKept(Refused):
    """The published rows of an earlier event cannot be put together again; carries `seq`."""


def keep_rows(
    pipeline: Pipeline, point: RewindPoint, note: GenerationNote, name: str
) -> list[Batch]:
    """Build the scratch generation; what names its rows comes last.

    Args:
        note: The note of the live generation.
        name: The new generation's name.

    Returns:
        Its batches, one for each that has rows, in the order in which they were published.

    Raises:
        RowsNotKept: a swap replaced rows that no folder tells from others, or files are gone.
    """
    layout = pipeline.layout
    kept = _kept(pipeline, point, note.mode)
    starts: dict[tuple[str, int], int] = {}
    written, linked = [], []
    for number, batch in enumerate(kept):
        sink = layout.sink(batch.generation)
        for file in batch.outputs:
            path = layout.sink(name) / file.path
            _prove_there(sink / file.path, point)
            link(sink / file.path, path)
            linked.append(path)
        start = starts.setdefault((batch.generation, batch.start), len(starts) + 1)
        update = {"generation": name, "batch": number, "start": start}
        written.append(batch.model_copy(update=update))
    sync(linked, layout.root)
    ledger = Ledger(layout, name)
    born = {"generation": name, "sink": ledger.sink, "checkpoint": ledger.checkpoint}
    documents.put_if_absent(layout.note(name), note.model_copy(update=born))
    for (generation, epoch), start in starts.items():
        ledger.start(_start(Ledger(layout, generation), epoch, start))
    for batch in written:
        documents.put_if_absent(ledger.folder / f"{batch.batch:06d}.json", batch)
    return written


def verify_kept(pipeline: Pipeline, point: RewindPoint, mode: OutputMode) -> int:
    """The number of rows that a rewind would keep, before the rows of one key are merged.

    Raises:
        RowsNotKept: as `keep_rows`; nothing was written.
    """
    rows = 0
    for batch in _kept(pipeline, point, mode):
        rows += batch.rows
        for file in batch.outputs:
            _prove_there(pipeline.layout.sink(batch.generation) / file.path, point)
    return rows


def _kept(pipeline: Pipeline, point: RewindPoint, mode: OutputMode) -> list[Batch]:
    """The batches with the files of which rows are published at a point; the last one always."""
    found: list[Batch] = []
    for event in _since_replaced(point.events):
        removed = event.recomputation.partitions if event.recomputation else None
        if event.kind == "swap" and removed is not None:
            if mode is not OutputMode.APPEND:
                raise _not_kept(point, f"event {event.seq} has replaced some of the merged rows")
            found = [_without(batch, removed, point, event) for batch in found]
        if event.kind != "reject":
            stored = event.stored_in
            batches = Ledger(pipeline.layout, stored.generation).batches(stored.first, stored.last)
            found += [_good(batch) for batch in batches]
    if mode is OutputMode.COMPLETE:
        # Each has the whole table.
        return found[-1:]
    return [batch for batch in found[:-1] if batch.outputs] + found[-1:]


def _since_replaced(events: Sequence[Event]) -> Iterator[Event]:
    whole = [place for place, event in enumerate(events) if event.kind == "replace"]
    yield from events[whole[-1] if whole else 0 :]


def _good(batch: Batch) -> Batch:
    return _with_files(batch, [file for file in batch.outputs if file.rows and not file.rejected])


def _without(batch: Batch, removed: Partitions, point: RewindPoint, event: Event) -> Batch:
    kept = []
    for file in batch.outputs:
        if any(column not in file.partition for column in removed.columns):
            raise _not_kept(
                point, f"event {event.seq} has replaced rows of {file.path}, which holds others too"
            )
        if not removed.hold(file.partition):
            kept.append(file)
    return _with_files(batch, kept)


def _with_files(batch: Batch, files: Sequence[OutputFile]) -> Batch:
    update = {"outputs": tuple(files), "rows": sum(file.rows for file in files), "rejected": 0}
    return batch.model_copy(update=update)


def _start(ledger: Ledger, epoch: int, number: int) -> Start:
    start = read_start(ledger.start_folder, epoch)
    return start.model_copy(update={"epoch": number, "last_written": -1, "last_planned": -1})


def _prove_there(path: Path, point: RewindPoint) -> None:
    if not path.is_file():
        raise _not_kept(point, f"{path} is gone")


def _not_kept(point: RewindPoint, why: str) -> RowsNotKept:
    event = point.events[-1]
    return RowsNotKept(
        f"What was published up to event {event.seq}, of increment {event.increment:06d}, cannot "
        f"be put together again: {why}.",
        remedy="Restore files that are gone from a backup; or go back to another run, or compute "
        "everything again with a rebuild.",
        seq=event.seq,
    )
