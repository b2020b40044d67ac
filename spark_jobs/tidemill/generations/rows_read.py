"""Holds the rows that Spark says it has read against those that are in the files of a batch.

Whatever makes Spark read a file twice, or not at all, ends here, before the batch is written down
and anything of it can be sealed.
"""

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.generations.build import left_out
from tidemill.journal.takeovers import has_rolled_over
from tidemill.ledger.batch import Batch
from tidemill.ledger.books import books_of
from tidemill.ledger.ledger import Ledger
from tidemill.sources.files.inputs_read import inputs_read
from tidemill.sources.probe import inspect
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource

MOST_NAMED = 20


class RowsReadAmiss(Refused):
    """A batch has not read each row of its files once; carries `batch`, `read` and `held`."""


class InputReadAgain(Refused):
    """A batch has read a file that an earlier one has read; carries `batch` and `files`."""


class BooksUnbalanced(Refused):
    """The rows of a batch do not add up.

    Carries `batch`, `rows_in`, `good`, `rejected` and `amiss`, the rows that are missing; where it
    is below 0, the rows too many.
    """


def inspected(pipeline: Pipeline, batch: Batch) -> Batch:
    """A batch with the rows of its files, none of which it has read twice or left out.

    Raises:
        RowsReadAmiss: it has.
        InputReadAgain: a batch before has read a file of it.
        BooksUnbalanced: rows of it are nowhere, or come of none.
        Refused: Spark misread a file, and the spec rates that `hold`.
    """
    _refuse_read_again(pipeline, batch)
    batch = inspect(pipeline, batch)
    _refuse_unbalanced_books(pipeline, batch)
    held = _rows_of(batch)
    read = batch.rows_in
    if read is None or held is None or read == held or not _comparable(pipeline):
        return batch
    if (read < held and not _each_row_is_told(pipeline, batch)) or left_out(pipeline):
        return batch
    files = [file.path for file in batch.inputs]
    raise RowsReadAmiss(
        f"Batch {batch.batch} has read {counted(read, 'row')}, and there are {held:,} in "
        f"{counted(len(files), 'file')} "
        f"({files[0]} is one): Spark read a file twice or not at all.",
        remedy=f"Read all input again: tidemill rebuild {pipeline.name} --reason TEXT. If it comes "
        "again, report it with the names of the files.",
        batch=batch.batch,
        read=read,
        held=held,
        files=files[:MOST_NAMED],
    )


def _refuse_read_again(pipeline: Pipeline, batch: Batch) -> None:
    """Refuse a file that came back while a query ran on a source log that was cut.

    With the whole log Spark passes over it, but where `maxFileAge` lets it forget a file.
    """
    layout, generation = pipeline.layout, batch.generation
    if not batch.inputs or not has_rolled_over(layout, generation):
        return
    past = Ledger(layout, generation).past()
    sources = pipeline.spec.sources_of(FileSource)
    for name, source in sources.items():
        if source.maxFileAge is not None or source.fileNameOnly:
            continue
        read = inputs_read(name, past, by_name=False)
        own = (file for file in batch.inputs if file.source == name)
        again = [file.path for file in own if read.at(file.on_disk) is not None]
        if again:
            raise InputReadAgain(
                f"Batch {batch.batch} has read {again[0]}, which an earlier batch has read: it "
                f"was put there again while the query ran ({counted(len(again), 'such file')}).",
                remedy="Nothing of the batch is published. Read all input again: "
                f"tidemill rebuild {pipeline.name} --reason TEXT. Deliver other content under "
                "other names.",
                batch=batch.batch,
                files=again[:MOST_NAMED],
            )


def _refuse_unbalanced_books(pipeline: Pipeline, batch: Batch) -> None:
    """Refuse a batch whose rows in are not its good, rejected and filtered rows.

    Only where each of the terms was counted for itself: the transform makes one row of each row, or
    none, and Spark counts the rows of files.
    """
    books = books_of([batch])
    if not books.amiss or not _comparable(pipeline) or left_out(pipeline):
        return
    raise BooksUnbalanced(
        f"Batch {batch.batch} has {books}: its transform makes "
        f"{'one row' if books.rows_per_row == 'one' else 'at most one row'} of each.",
        remedy=f"Read all input again: tidemill rebuild {pipeline.name} --reason TEXT. If it comes "
        "again, report it with the transform.",
        batch=batch.batch,
        rows_in=books.rows_in,
        good=books.good,
        rejected=books.rejected,
        amiss=books.amiss,
    )


def _rows_of(batch: Batch) -> int | None:
    """The rows of all files of a batch; None where that is unknown of any."""
    rows = [file.rows for file in batch.inputs if file.rows is not None]
    return sum(rows) if rows and len(rows) == len(batch.inputs) else None


def _comparable(pipeline: Pipeline) -> bool:
    """Whether Spark's count is of files alone, each row once; a sink of its own may read more."""
    spec = pipeline.spec
    return spec.published and all(source.LISTS_FILES for source in spec.sources.values())


def _each_row_is_told(pipeline: Pipeline, batch: Batch) -> bool:
    """Whether a batch has a row, good or rejected, for each that it has read of a file.

    Spark need not read what a filter or a join leaves out anyway.
    """
    sources = pipeline.spec.sources_of(FileSource).values()
    told = batch.rows + batch.rejected == batch.rows_in and batch.rows_in != 0
    return told and len(sources) == 1 and all(one.rules.malformed_rows for one in sources)
