"""The books of an increment: what became of each row that its batches read."""

from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.increments.records import Sealed
from tidemill.ledger.books import Books, books_of
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.late_rows import LateLog, LateRows
from tidemill.ledger.ledger import Ledger
from tidemill.storage import documents


def increment_books(layout: Layout, sealed: Sealed) -> Books:
    """The books of an increment.

    Good are the rows that go out: where later rows replace earlier ones, fewer than were written.
    """
    batches = Ledger(layout, sealed.generation).batches(sealed.first, sealed.last)
    books = books_of(batches, _late_rows(layout, sealed, [batch.batch for batch in batches]))
    return books.model_copy(update={"good": sealed.rows})


def _late_rows(layout: Layout, sealed: Sealed, batches: list[int]) -> list[LateRows]:
    """The late rows of an increment's batches, one record for each that may have any."""
    note = read_note(layout, sealed.generation)
    if note is None or note.pipeline_class is PipelineClass.MAP:
        return []
    log = LateLog(layout, sealed.generation)
    found = {number: documents.read(log.document(number), LateRows) for number in batches}
    return [
        late or LateRows(batch=number, watermark_ms=0, unknown="it was not counted")
        for number, late in found.items()
    ]
