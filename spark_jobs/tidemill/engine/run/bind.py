"""Records what must be known before a query starts: the generation's note, and the start."""

import json
import uuid
from typing import Any

from pyspark.sql import SparkSession

from tidemill.compatibility.creation_snapshot import put_fingerprint
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.query.windows import WindowsUnknown, windows_of
from tidemill.engine.run.cores import cluster_cores
from tidemill.engine.sources.static_inputs import Pins
from tidemill.file_formats.written_format import written_by
from tidemill.generations.generation import Generation
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.generation_note import (
    GenerationNote,
    hash_of_file,
    hash_of_spec,
    keys_of,
    read_note,
    writes_of,
)
from tidemill.ledger.input_file import hashed_sources
from tidemill.ledger.ledger import Start
from tidemill.ledger.source_reading import readings_of
from tidemill.ledger.windows import Windows
from tidemill.sources.files.clean_source import cleaned_objects, cleaned_sources
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec
from tidemill.storage import documents
from tidemill.storage.folders import remove_folder
from tidemill.storage.root_identity import register, root_id_of
from tidemill.storage.run_context import LeasedRun
from tidemill.storage.sync import make_folder, put_whole
from tidemill.toolchain.loopback import is_local
from tidemill.toolchain.spark_conf import SHUFFLE_PARTITIONS, STATE_ENCODING


def bind(
    run: LeasedRun, generation: Generation, planned: Plan, *, continuous: bool = False
) -> GenerationNote:
    """The generation's note; written, with the checkpoint's id, before a first query starts.

    The session is set to as many partitions as the generation was born with.

    Args:
        generation: That the query goes on with, or that begins with it.
        continuous: Whether it is a continuous one.
    """
    pipeline, layout, spec = run.pipeline, run.layout, run.pipeline.spec
    conf = planned.rows.sparkSession.conf
    note = generation.note
    if note is None:
        note = GenerationNote(
            generation=generation.name,
            query_id=str(uuid.uuid4()),
            checkpoint=layout.checkpoint(generation.name),
            sink=layout.sink(generation.name),
            writes=writes_of(spec),
            format=spec.output.format,
            mode=spec.output.mode,
            keys=keys_of(spec),
            continuous=continuous,
            shuffle_partitions=_shuffle_partitions(planned.rows.sparkSession, spec),
            pipeline_class=planned.pipeline_class,
            windows=_windows(planned),
            table_schema=planned.table_schema.jsonValue(),
            partition_by=spec.output.partition_by,
            null_partition=spec.output.null_partition,
            timezone=spec.timezone,
            spec_hash=hash_of_spec(spec),
            code_hash=hash_of_file(pipeline.transform_file),
            born=run.clock(),
            root=root_id_of(layout.root),
        )
        register(layout, run.clock)
        note = documents.put_if_absent(layout.note(generation.name), note)
    put_fingerprint(pipeline, note)
    conf.set(STATE_ENCODING, planned.state_encoding)
    # The machine may have other cores than the one that the generation was born on.
    conf.set(SHUFFLE_PARTITIONS, str(note.shuffle_partitions or conf.get(SHUFFLE_PARTITIONS)))
    if generation.checkpoint.query_id is None:
        # Spark takes the id it finds here, so note and checkpoint are bound from the first moment.
        make_folder(note.checkpoint)
        put_whole(note.checkpoint / "metadata", json.dumps({"id": note.query_id}))
    return note


def _windows(planned: Plan) -> tuple[Windows, ...] | None:
    if planned.pipeline_class is not PipelineClass.WINDOW:
        return None
    try:
        return tuple(windows_of(planned.rows))
    except WindowsUnknown:
        return None


def _shuffle_partitions(session: SparkSession, spec: Spec) -> int:
    """As the spec asks for, else as many as the application has cores."""
    asked = int(str(session.conf.get(SHUFFLE_PARTITIONS)))
    if spec.state.shuffle_partitions or is_local(str(session.sparkContext.master)):
        return asked
    return cluster_cores(session) or asked


def start_of(run: LeasedRun, generation: Generation, planned: Plan, pins: Pins) -> Start:
    """The ledger's record of a query start."""
    pipeline = run.pipeline
    schema: dict[str, Any] = planned.table_schema.jsonValue()
    return Start(
        epoch=generation.ledger.next_start(run.epoch),
        run_id=run.run_id,
        spec_hash=hash_of_spec(pipeline.spec),
        code_hash=hash_of_file(pipeline.transform_file),
        table_schema=schema,
        last_written=generation.written,
        at=run.clock(),
        write_format=written_by(pipeline.spec.output),
        hashed_sources=hashed_sources(pipeline.spec),
        cleaned_sources=cleaned_sources(pipeline.spec),
        cleaned_objects=cleaned_objects(pipeline.spec),
        last_planned=generation.planned,
        static=dict(pins),
        readings=readings_of(pipeline.spec),
        rows_per_row=planned.rows_per_row,
    )


def forget(pipeline: Pipeline) -> None:
    """Start over: drop a checkpoint whose rows went with the process that wrote them.

    Only ever that of a sink that left no file behind.
    """
    layout, generation = pipeline.layout, generation_of(pipeline)
    note = read_note(layout, generation)
    if note is None or note.writes != "nothing":
        return
    plans = layout.passed(generation, "").parent
    for folder in (layout.ledger(generation), layout.checkpoint(generation), plans):
        remove_folder(folder, missing_ok=True)
    layout.fingerprint(generation).unlink(missing_ok=True)
    layout.note(generation).unlink()
