"""An incident: a held increment, with all that a person needs to decide about it."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.increments.excerpt import Excerpt
from tidemill.increments.mask import masked_row
from tidemill.increments.records import Sealed
from tidemill.increments.rejected_rows import rejected_by_reason, rejected_rows
from tidemill.increments.status import IncrementStatus, read_increments
from tidemill.ledger.batch import Batch
from tidemill.ledger.books import Books
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.reporting.choices import Choice, choices
from tidemill.reporting.docs_pages import page_of
from tidemill.reporting.dry_runs import DryRunResult, find_dry_run
from tidemill.reporting.increment_books import increment_books
from tidemill.reporting.measures import Failure, failures
from tidemill.spark_logs.offset_log import is_of_files
from tidemill.spec.spec import Gate

# The increments before it whose measures are shown, itself included.
MEASURED = 20
MOST_FILES = 200


class Incident(FrozenModel):
    """A held increment, or another one that a person looks into.

    Attributes:
        failures: What it broke; warnings are among them.
        rejected_by_reason: Reason -> rejected rows, the most frequent first; empty as well where
            their files were vacuumed since.
        rejected_rows: Some of them, masked as the spec says.
        waiting: The increments that wait behind it.
        inputs: The input files that its batches read, at most 200 of them.
        files: The number of all these files.
        offsets: Source without files -> its offset after the last batch.
        choices: What a person may decide now.
        docs: The Data Docs page, relative to the pipeline's `docs`; None where there is none.
        judged_in: The run whose gate judged it last; None until it is judged.
        dry_run: The newest dry run of what is held; None where there is none.
    """

    pipeline: str
    increment: IncrementStatus
    books: Books
    failures: tuple[Failure, ...]
    rejected_by_reason: dict[str, int]
    rejected_rows: tuple[dict[str, Any], ...]
    waiting: tuple[IncrementStatus, ...]
    inputs: tuple[InputFile, ...]
    files: int
    offsets: dict[str, Any]
    choices: tuple[Choice, ...]
    docs: str | None
    judged_in: str | None
    dry_run: DryRunResult | None = None


def read_incident(layout: Layout, number: int, gate: Gate) -> Incident:
    """What is known of an increment; costs nothing that grows with the pipeline's past.

    Args:
        number: The increment's number.
        gate: The spec's, which says how many samples are shown and which columns are masked.

    Raises:
        UsageError: there is no such increment.
    """
    excerpt = Excerpt(layout, max(0, number - MEASURED + 1))
    found, all_of_them = excerpt.get(number), read_increments(excerpt)
    increment = next(one for one in all_of_them if one.increment == number)
    waiting = tuple(one for one in all_of_them if one.behind == number)
    ledger = Ledger(layout, found.sealed.generation)
    batches = ledger.batches(found.sealed.first, found.sealed.last)
    inputs = tuple(file for batch in batches for file in batch.inputs)
    earlier = [one for one in excerpt.increments if number - MEASURED < one.number < number]
    reasons, rejected = _rejected(ledger, found.sealed, batches, gate)
    note = read_note(layout, found.sealed.generation)
    kept = None if note is None else note.pipeline_class
    page = page_of(layout, found)
    return Incident(
        pipeline=layout.name,
        increment=increment,
        books=increment_books(layout, found.sealed),
        failures=failures(found, earlier, gate.mask),
        rejected_by_reason=reasons,
        rejected_rows=rejected,
        waiting=waiting,
        inputs=inputs[:MOST_FILES],
        files=len(inputs),
        offsets=_offsets(batches),
        choices=choices(increment, kept or PipelineClass.MAP, len(waiting)),
        docs=None if page is None else str(page.relative_to(layout.docs)),
        judged_in=None if found.verdict is None else found.verdict.run_id,
        dry_run=find_dry_run(layout, increment) if increment.state == "held" else None,
    )


def _rejected(
    ledger: Ledger, sealed: Sealed, batches: Sequence[Batch], gate: Gate
) -> tuple[dict[str, int], tuple[dict[str, Any], ...]]:
    """The rejected rows by reason, and some of them, masked."""
    if not sealed.rejected:
        return {}, ()
    try:
        return rejected_by_reason(ledger, sealed), _samples(ledger, batches, gate)
    except (OSError, pa.ArrowInvalid):
        # Once the table was compacted, VACUUM may have removed the files of an older increment.
        return {}, ()


def _samples(ledger: Ledger, batches: Sequence[Batch], gate: Gate) -> tuple[dict[str, Any], ...]:
    found: list[dict[str, Any]] = []
    for rows in rejected_rows(ledger, batches) if gate.samples else ():
        few = pa.Table.from_struct_array(rows.slice(0, gate.samples - len(found)))
        found += few.select(["reason", "file", "record"]).to_pylist()
        if len(found) >= gate.samples:
            break
    return tuple(masked_row(row, gate.mask) for row in found)


def _offsets(batches: Sequence[Batch]) -> dict[str, Any]:
    """The offsets of sources that have no files."""
    offsets = batches[-1].offsets if batches else {}
    return {name: at for name, at in offsets.items() if not is_of_files(at)}
