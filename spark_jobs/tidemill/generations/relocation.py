"""Which files of a pipeline name another place than where they are, and what they are to say.

Absolute paths below the root stand in two kinds of files: the log of each file sink, and the note
of each generation, which is written again last. Everything else is relative, or only informs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.compactible_log import COMPACT
from tidemill.spark_logs.metadata_log import TornLogEntry, batch_files
from tidemill.spark_logs.relocated_entry import relocated_entry
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY
from tidemill.storage import documents


@dataclass(frozen=True)
class Rewrite:
    """A file that is to be written again.

    Args:
        text: Its whole new content.
    """

    file: Path
    text: str


def notes(layout: Layout) -> Iterator[tuple[Path, GenerationNote]]:
    """The notes of all generations, those of recomputations too."""
    for file in sorted((layout.home / "checkpoints").glob("*.json")):
        # Others beside them have a second dot in their names.
        if "." not in file.stem:
            note = documents.read(file, GenerationNote)
            if note is not None:
                yield file, note


def rewrites(
    layout: Layout, root: str | None = None, to: Layout | None = None
) -> Iterator[Rewrite]:
    """What is to be written again so that every path is one below the pipeline's folder.

    A torn entry of a log is passed over; it is found by whoever reads it, wherever the root is.

    Args:
        root: The identity of the root that generations are to belong to; None to leave it.
        to: Where the folder is to be, and the files are to be written; None where it stays.

    Raises:
        EntryForeign: a log names a file that the ledger does not know.
    """
    there = to or layout
    for sink in sorted(layout.table.glob(f"_*/{METADATA_DIRECTORY}")):
        yield from _entries(layout, sink.parent, there.table / sink.parent.name)
    for file, note in notes(layout):
        place = {
            "sink": there.sink(note.generation),
            "checkpoint": there.checkpoint(note.generation),
            "root": root or note.root,
        }
        here = note.model_copy(update=place)
        if here != note:
            yield Rewrite(there.home / file.relative_to(layout.home), here.content())


def _entries(layout: Layout, sink: Path, there: Path) -> Iterator[Rewrite]:
    ledger = Ledger(layout, sink.name.removeprefix("_"))
    last, known = ledger.latest(), _committed(ledger)
    for kind in ("", COMPACT):
        for batch, file in batch_files(sink / METADATA_DIRECTORY, kind).items():
            try:
                # The ledger may lack the last batches of a driver that was killed.
                text = relocated_entry(file, batch, there, known if batch <= last else None)
            except TornLogEntry:
                continue
            if text is not None:
                yield Rewrite(there / METADATA_DIRECTORY / file.name, text)


def _committed(ledger: Ledger) -> Mapping[str, int]:
    """Path below the sink -> size, of every file that the ledger knows of this generation."""
    own = (batch for batch in ledger.batches() if batch.generation == ledger.generation)
    return {one.path: one.size for batch in own for one in batch.outputs}
