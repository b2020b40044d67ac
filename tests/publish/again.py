"""What a person had computed again, written by hand: a generation of its own with one batch."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spark_jobs.ledger import documents
from spark_jobs.ledger.batch import Batch, Start
from spark_jobs.ledger.batches import Ledger
from spark_jobs.ledger.increments import Rejection, Sealed, hash_of_files
from spark_jobs.ledger.made import Made, MadeBy
from spark_jobs.ledger.note import read_note
from spark_jobs.ledger.output_file import output_files
from spark_jobs.ledger.partitions import Partitions
from spark_jobs.ledger.run_increment import remember
from spark_jobs.ledger.sink_log import SinkFile
from tests.histories import History
from tests.rows import Row
from tests.spark_batches import write_files


def days(*values: str) -> Partitions:
    """Partitions of the default column."""
    return Partitions(columns=("day",), values=tuple((value,) for value in sorted(values)))


def made_again(
    history: History,
    good: Iterable[Row] = (),
    rejected: Iterable[Row] = (),
    *,
    by_way_of: MadeBy = "backfill",
    run_id: str = "again",
    **changes: Any,
) -> int:
    """Rows that were computed again, sealed and passed; they go out with their run's publish.

    Args:
        history: Of the pipeline.
        good: The rows.
        rejected: The rejected ones.
        by_way_of: As in `Made`.
        run_id: Of the run that computed them.
        **changes: Of `Made`, over a backfill of nothing as of now.
    """
    live = history.ledger
    given: dict[str, Any] = {
        "generation": live.generation,
        "first": 0,
        "last": live.latest(),
        "seq": max((event.seq for event in history.journal.events()), default=0),
        "code_hash": "new",
        "spec_hash": "spec",
        "by": "ann",
        "reason": "the rule was wrong",
    }
    made = Made.model_validate({**given, "by_way_of": by_way_of, **changes})
    scratch = Ledger(history.layout, f"{by_way_of}-{uuid.uuid4().hex[:8]}")
    batch = write_scratch(history, scratch, made.last, good, rejected)
    number = max(history.increments.numbers(), default=0) + 1
    history.increments.seal(
        Sealed(
            increment=number,
            generation=scratch.generation,
            first=made.last,
            last=made.last,
            files=len(batch.outputs),
            files_hash=hash_of_files([batch]),
            rows=batch.rows,
            rejected=batch.rejected,
            made=made,
            run_id=run_id,
            sealed=datetime.now(UTC),
        )
    )
    history.judge(number)
    remember(history.layout.run(run_id), number)
    return number


def write_scratch(
    history: History, scratch: Ledger, number: int, good: Iterable[Row], rejected: Iterable[Row]
) -> Batch:
    """The note, the start, the files and the one batch of a generation."""
    note = read_note(history.layout, history.ledger.generation)
    (model,) = history.ledger.batches(last=0)
    start = history.ledger.starts()[-1]
    assert note is not None
    documents.put_if_absent(
        history.layout.note(scratch.generation),
        note.model_copy(update={"generation": scratch.generation, "sink": scratch.sink}),
    )
    scratch.start(Start.model_validate({**start.model_dump(), "produced": -1}))
    files = write_files(scratch.sink, number, history.columns, history.partitions, good, rejected)
    outputs = output_files([_sink_file(path) for path in files], scratch.sink)
    batch = model.model_copy(
        update={
            "generation": scratch.generation,
            "batch": number,
            "outputs": outputs,
            "rows": sum(file.rows for file in outputs if not file.rejected),
            "rejected": sum(file.rows for file in outputs if file.rejected),
            "start": start.epoch,
        }
    )
    documents.put_if_absent(scratch.folder / f"{number:06d}.json", batch)
    return batch


def reject_increment(history: History, number: int) -> None:
    """A person's decision that what an increment read does not count."""
    assert history.increments.decide(
        Rejection(
            increment=number,
            files_hash=history.increments.get(number).sealed.files_hash,
            by="ann",
            reason="a test file",
            rejected=datetime.now(UTC),
        )
    )


def _sink_file(path: Path) -> SinkFile:
    found = path.stat()
    return SinkFile(path, found.st_size, found.st_mtime_ns // 1_000_000)
