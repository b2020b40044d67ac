"""What a person had computed again, written by hand: a generation of its own with one batch."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import Schema

from tests.support.histories.history_builder import History
from tests.support.histories.spark_batch_builder import write_files
from tests.support.sample_rows import Row, reject, rows
from tidemill.increments.increments import Rejection, Sealed, hash_of_files
from tidemill.journal.journal import Event
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import Recomputation
from tidemill.journal.takeovers import Takeover, put_takeover
from tidemill.ledger.batch import Batch, Start
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.output_file import output_files
from tidemill.ledger.run_increment import remember
from tidemill.ledger.run_kinds import EventKind, RecomputationKind
from tidemill.publish.net_payload import write_net_payload
from tidemill.spark_logs.sink_log import SinkFile
from tidemill.spec.output import OutputMode
from tidemill.storage import documents


def days(*values: str) -> Partitions:
    """Partitions of the default column."""
    return Partitions(columns=("day",), values=tuple((value,) for value in sorted(values)))


def made_again(
    history: History,
    good: Iterable[Row] = (),
    rejected: Iterable[Row] = (),
    *,
    kind: RecomputationKind = "backfill",
    run_id: str = "again",
    **changes: Any,
) -> int:
    """Rows that were computed again, sealed and passed; they go out with their run's publish.

    Args:
        history: The history of the pipeline.
        good: The rows.
        rejected: The rejected ones.
        kind: As in `Recomputation`.
        run_id: The run id of the run that computed them.
        **changes: Fields of the recomputation, over a backfill of nothing as of now.
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
    recomputation = Recomputation.model_validate({**given, "kind": kind, **changes})
    scratch = Ledger(history.layout, f"{kind}-{uuid.uuid4().hex[:8]}")
    batch = write_scratch(history, scratch, recomputation.last, good, rejected)
    number = max(history.increments.numbers(), default=0) + 1
    history.increments.seal(
        Sealed(
            increment=number,
            generation=scratch.generation,
            first=recomputation.last,
            last=recomputation.last,
            files=len(batch.outputs),
            files_hash=hash_of_files([batch]),
            rows=batch.rows,
            rejected=batch.rejected,
            recomputation=recomputation,
            run_id=run_id,
            sealed=datetime.now(UTC),
        )
    )
    history.judge(number)
    remember(history.layout.run(run_id), number)
    return number


def tail_redone(history: History, *supersedes: int) -> int:
    """A redo of batches 1 and 2 in the place of their increments: two good rows and a rejected."""
    return made_again(
        history,
        rows(20, 30),
        [reject("c")],
        kind="redo",
        first=1,
        last=2,
        supersedes=supersedes,
    )


def write_scratch(
    history: History,
    scratch: Ledger,
    number: int,
    good: Iterable[Row],
    rejected: Iterable[Row],
    **changes: Any,
) -> Batch:
    """The note, the start, the files and a batch of another generation."""
    note = read_note(history.layout, history.ledger.generation)
    (model,) = history.ledger.batches(last=0)
    start = history.ledger.starts()[-1]
    assert note is not None
    documents.put_if_absent(
        history.layout.note(scratch.generation),
        note.model_copy(update={"generation": scratch.generation, "sink": scratch.sink, **changes}),
    )
    fields = [*history.columns, *(pa.field(n, kind) for n, kind in history.partitions.items())]
    schema = json.loads(Schema.from_arrow(pa.schema(fields)).to_json())
    own = {"last_written": -1, "table_schema": schema}
    scratch.start(Start.model_validate({**start.model_dump(), **own}))
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


def rebuilt(
    history: History, *batches: Iterable[Row], rejected: Iterable[Row] = (), **changes: Any
) -> Event:
    """A generation that was built from the beginning, judged, and put into the journal.

    Args:
        history: The pipeline's history; its `columns` and `partitions` are the new generation's.
        *batches: The good rows of each batch.
        rejected: The rejected of the last batch.
        **changes: The changes of the note.
    """
    ledger = Ledger(history.layout, "live-0002")
    last = len(batches) - 1
    written = [
        write_scratch(history, ledger, n, good, rejected if n == last else (), **changes)
        for n, good in enumerate(batches)
    ]
    number = max(history.increments.numbers(), default=0) + 1
    seq = max((event.seq for event in history.journal.events()), default=0) + 1
    note = read_note(history.layout, ledger.generation)
    assert note is not None
    net = None
    if note.mode is not OutputMode.APPEND:
        net = write_net_payload(
            ledger,
            written,
            history.increments.folder_of(number),
            mode=note.mode,
            keys=note.keys,
            partition_by=tuple(note.partition_by),
            epoch=1,
        )
    sealed = Sealed(
        increment=number,
        generation=ledger.generation,
        first=0,
        last=last,
        files=sum(len(batch.outputs) for batch in written),
        files_hash=hash_of_files(written, net),
        rows=sum(one.rows for one in (written if net is None else net)),
        net=net,
        rejected=sum(batch.rejected for batch in written),
        recomputation=Recomputation(
            kind="rebuild",
            generation=ledger.generation,
            first=0,
            last=last,
            seq=seq - 1,
            code_hash="new",
            spec_hash="spec",
            by="ann",
            reason="other columns",
        ),
        run_id="rebuild",
        sealed=datetime.now(UTC),
    )
    history.increments.seal(sealed)
    history.judge(number)
    event = _event(sealed, seq, "replace")
    put_takeover(
        history.layout,
        Takeover(
            generation=ledger.generation,
            kind="rebuild",
            predecessor="live-0001",
            first=0,
            seq=seq,
            by="ann",
            reason="other columns",
            born=datetime.now(UTC),
        ),
    )
    history.journal.append(event)
    return event


def forked(history: History, first: int) -> None:
    """A generation that takes over from the first one, with a batch of that number."""
    put_takeover(
        history.layout,
        Takeover(
            generation="live-0002",
            kind="fork",
            predecessor="live-0001",
            first=first,
            by="ann",
            reason="a new rule",
            born=datetime.now(UTC),
        ),
    )


def next_of(history: History, number: int, *good: Row) -> Event:
    """A batch of the second generation, as an increment of its own in the journal."""
    batch = write_scratch(history, Ledger(history.layout, "live-0002"), number, good, ())
    increment = max(history.increments.numbers(), default=0) + 1
    sealed = Sealed(
        increment=increment,
        generation="live-0002",
        first=number,
        last=number,
        files=len(batch.outputs),
        files_hash=hash_of_files([batch]),
        rows=batch.rows,
        rejected=batch.rejected,
        run_id=f"run-{increment}",
        sealed=datetime.now(UTC),
    )
    history.increments.seal(sealed)
    history.judge(increment)
    seq = max((event.seq for event in history.journal.events()), default=0) + 1
    event = _event(sealed, seq, "increment")
    history.journal.append(event)
    return event


def _event(sealed: Sealed, seq: int, kind: EventKind) -> Event:
    return Event(
        seq=seq,
        kind=kind,
        increment=sealed.increment,
        generation=sealed.generation,
        first=sealed.first,
        last=sealed.last,
        recomputation=sealed.recomputation,
        rows=sealed.rows,
        rejected=sealed.rejected,
        files_hash=sealed.files_hash,
        verdict={},
        release=None,
        run_id=sealed.run_id,
        at=datetime.now(UTC),
    )


def reject_increment(history: History, number: int) -> None:
    """A person's decision that what an increment read does not count."""
    history.increments.decide(
        Rejection(
            increment=number,
            files_hash=history.snapshot.get(number).sealed.files_hash,
            by="ann",
            reason="a test file",
            rejected=datetime.now(UTC),
        )
    )


def _sink_file(path: Path) -> SinkFile:
    found = path.stat()
    return SinkFile(path, found.st_size, found.st_mtime_ns // 1_000_000)
