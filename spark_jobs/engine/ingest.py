"""Ingest: run the query until the available data is used up, and write down what it committed."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.engine.progress import Progress, of_spark, why
from spark_jobs.engine.query import Plan, plan
from spark_jobs.engine.sink import start
from spark_jobs.ledger import documents
from spark_jobs.ledger.batches import Batch, Ledger, Start
from spark_jobs.ledger.bound_source import bind_sources, prove_sources
from spark_jobs.ledger.checkpoint import first_write_leftovers
from spark_jobs.ledger.generation import Generation, open_generation
from spark_jobs.ledger.input_file import hashed_sources
from spark_jobs.ledger.lease import Lease
from spark_jobs.ledger.look import Look
from spark_jobs.ledger.looks import looks
from spark_jobs.ledger.note import Note, hash_of_file, hash_of_spec, keys_of, writes_of
from spark_jobs.ledger.written import written_by

POLL_SECONDS = 0.3
Say = Callable[[str], None]


def ingest(
    session: SparkSession, pipeline: Pipeline, lease: Lease, run_id: str, say: Say
) -> list[Batch]:
    """Run one pipeline's query over what is there now.

    Args:
        session: Opened with `engine_conf`.
        pipeline: What to run.
        lease: Held by the caller for as long as this runs.
        run_id: Of the DAG run.
        say: Gets a line per batch, for the task log.

    Returns:
        The batches that are new in the ledger, those of a driver that died included.

    Raises:
        Refused: the generation's parts do not belong together.
        QueryFailed: the same error will come again.
        QueryInterrupted: a retry may help.
    """
    generation = open_generation(pipeline)
    try:
        planned = plan(session, pipeline)
    except PySparkException as error:
        raise of_spark(error) from error
    note = _bind(pipeline, generation, planned)
    for leftover in first_write_leftovers(note.checkpoint, generation.log):
        say(f"removing {leftover}: left by a driver that died in its very first write")
        leftover.unlink()
    ledger = generation.ledger
    bind_sources(pipeline.layout, generation.name, pipeline.spec)
    written = ledger.complete()
    for batch in written:
        say(f"batch {batch.batch}: committed by an earlier driver, now in the ledger")
    batches = ledger.batches()
    prove_sources(pipeline.layout, generation.name, pipeline.spec, batches)
    backlog = {look.source: look for look in looks(pipeline, batches)}
    lease.check()
    ledger.start(_start_of(pipeline, generation, planned, lease, run_id))
    try:
        query = start(planned, pipeline, generation.name, lease, run_id)
    except PySparkException as error:
        raise of_spark(error) from error
    try:
        written += _follow(query, ledger, backlog, say)
    finally:
        query.stop()
    failure = why(query)
    if failure is not None:
        raise failure
    return written


def _follow(
    query: StreamingQuery, ledger: Ledger, backlog: Mapping[str, Look], say: Say
) -> list[Batch]:
    """Write down each batch as it is committed, and say a line about it."""
    progress = Progress(backlog)
    written: list[Batch] = []
    running = True
    while running:
        running = query.isActive
        if running:
            _wait(query)
        progress.look(query)
        # A batch is reported shortly after its commit; only the report knows the rows it read.
        fresh = ledger.complete(progress.rows_in, progress.latest if running else None)
        for batch in fresh:
            say(progress.line(batch))
        written += fresh
    return written


def _wait(query: StreamingQuery) -> None:
    # PySpark's annotation says whole seconds; it multiplies by 1000 before it asks the JVM.
    # The query's own error is raised here too; it is told apart when the query has ended.
    with suppress(PySparkException):
        query.awaitTermination(POLL_SECONDS)  # type: ignore[arg-type]


def _bind(pipeline: Pipeline, generation: Generation, planned: Plan) -> Note:
    """The generation's note; written, with the checkpoint's id, before a first query starts."""
    layout, spec = pipeline.layout, pipeline.spec
    note = generation.note
    if note is None:
        note = Note(
            generation=generation.name,
            query_id=str(uuid.uuid4()),
            checkpoint=layout.checkpoint(generation.name),
            sink=layout.sink(generation.name),
            writes=writes_of(spec),
            mode=spec.output.mode,
            keys=keys_of(spec),
            table_schema=planned.table_schema.jsonValue(),
            partition_by=spec.output.partition_by,
            timezone=spec.timezone,
            spec_hash=hash_of_spec(spec),
            code_hash=hash_of_file(pipeline.transform_file),
            born=datetime.now(UTC),
        )
        documents.put_if_absent(layout.note(generation.name), note)
    if generation.checkpoint.query_id is None:
        # Spark takes the id it finds here, so note and checkpoint are bound from the first moment.
        note.checkpoint.mkdir(parents=True, exist_ok=True)
        draft = note.checkpoint.parent / f".{generation.name}.metadata.{os.getpid()}"
        draft.write_text(json.dumps({"id": note.query_id}), encoding="utf-8")
        draft.replace(note.checkpoint / "metadata")
    return note


def _start_of(
    pipeline: Pipeline, generation: Generation, planned: Plan, lease: Lease, run_id: str
) -> Start:
    schema: dict[str, Any] = planned.table_schema.jsonValue()
    return Start(
        epoch=lease.epoch,
        run_id=run_id,
        spec_hash=hash_of_spec(pipeline.spec),
        code_hash=hash_of_file(pipeline.transform_file),
        table_schema=schema,
        produced=generation.written,
        at=datetime.now(UTC),
        written=written_by(pipeline.spec.output),
        hashed=hashed_sources(pipeline.spec),
    )
