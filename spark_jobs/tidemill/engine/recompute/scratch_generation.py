"""A scratch generation for recomputed rows: files, and one batch record that names them."""

import uuid
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from tidemill.engine.query.planned_query import Plan
from tidemill.engine.recompute.published_input import Read
from tidemill.engine.sinks.output_format import in_format
from tidemill.engine.sinks.row_keys import refuse_irreplaceable
from tidemill.file_formats.keyed_rows import KeyedFile
from tidemill.file_formats.written_format import PARQUET, WriteFormat, written_by
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.generation_note import GenerationNote, keys_of, writes_of
from tidemill.ledger.ledger import Batch, Ledger, OutputFile, Start
from tidemill.ledger.output_file import output_files
from tidemill.ledger.source_reading import readings_of
from tidemill.spark_logs.sink_log import SinkFile
from tidemill.spark_logs.spark_files import with_checksums
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents
from tidemill.storage.run_context import RunContext
from tidemill.storage.sync import sync

LETTERS = 8


def scratch(recomputation: Recomputation) -> BatchRange:
    """A new place for what is computed again, such as `backfill-3f2a9c01`."""
    name = f"{recomputation.kind}-{uuid.uuid4().hex[:LETTERS]}"
    return BatchRange(generation=name, first=recomputation.last, last=recomputation.last)


def write_rows(rows: DataFrame, planned: Plan, pipeline: Pipeline, place: BatchRange) -> None:
    """Write good and rejected rows as the stream's sink would, beside others of the same place.

    Args:
        rows: As `plan_rows` gives them, cut to what is wanted.
        planned: What they were cut from.
    """
    output = pipeline.spec.output
    append = output.mode is OutputMode.APPEND
    if append:
        rows = in_format(rows, planned.table_schema, output, pipeline.transform_file)
    options = output.writer_options if append else {k: str(v) for k, v in output.options.items()}
    (
        rows.write.mode("append")
        .format(output.format if append else "parquet")
        .partitionBy(*output.sink_partitions)
        .options(**options)
        .option("maxRecordsPerFile", output.maxRecordsPerFile)
        .save(str(pipeline.layout.sink(place.generation)))
    )


def record_batch(
    run: RunContext,
    planned: Plan,
    recomputation: Recomputation,
    place: BatchRange,
    reads: Sequence[Read],
) -> Batch:
    """Give what is in the sink a note, a start and a batch; only this last one makes it count.

    Args:
        planned: The query, for its columns and class.
        recomputation: What was asked for.
        reads: What was read; the last is of batch `made.last`.

    Raises:
        QueryFailed: in mode update, two rows have the same key, or one has none.
    """
    pipeline, layout, name = run.pipeline, run.layout, place.generation
    files = files_in(pipeline, place)
    if pipeline.spec.output.mode is OutputMode.UPDATE:
        sink = layout.sink(name)
        good = [KeyedFile(sink / f.path, f.partition) for f in files if not f.rejected and f.rows]
        refuse_irreplaceable(good, planned.rows.schema, pipeline.spec.output, place.last)
    sync(with_checksums(layout.sink(name) / file.path for file in files), layout.root)
    start = _start(run, planned, recomputation, reads[-1].batch)
    ledger = Ledger(layout, name)
    documents.put_if_absent(layout.note(name), _note(pipeline, planned, name, start))
    ledger.start(start)
    batch = _batch(place, start, reads, files)
    return documents.put_if_absent(ledger.folder / f"{place.last:06d}.json", batch)


def _start(run: RunContext, planned: Plan, recomputation: Recomputation, last: Batch) -> Start:
    return Start(
        epoch=run.epoch,
        run_id=run.run_id,
        spec_hash=recomputation.spec_hash,
        code_hash=recomputation.code_hash,
        table_schema=planned.table_schema.jsonValue(),
        last_written=recomputation.last - 1,
        at=run.clock(),
        write_format=_written(run.pipeline),
        last_planned=recomputation.last - 1,
        static=last.static,
        readings=readings_of(run.pipeline.spec),
    )


def _batch(
    place: BatchRange, start: Start, reads: Sequence[Read], files: tuple[OutputFile, ...]
) -> Batch:
    last = reads[-1].batch
    return Batch(
        generation=place.generation,
        batch=place.last,
        offsets=last.offsets,
        inputs=tuple(file for read in reads for file in read.files),
        outputs=files,
        # Most rows that were read may be outside the kept partitions.
        rows_in=None,
        rows=sum(file.rows for file in files if not file.rejected),
        rejected=sum(file.rows for file in files if file.rejected),
        watermark_before_ms=last.watermark_before_ms,
        watermark_after_ms=last.watermark_after_ms,
        static=last.static,
        start=start.epoch,
        run_id=start.run_id,
        spec_hash=start.spec_hash,
        code_hash=start.code_hash,
        committed=start.at,
    )


def files_in(pipeline: Pipeline, place: BatchRange) -> tuple[OutputFile, ...]:
    """The files in a scratch generation's sink, with their rows."""
    sink = pipeline.layout.sink(place.generation)
    paths = sorted(path for path in sink.rglob("*") if path.is_file() and _is_data(path, sink))
    files = [SinkFile(path, path.stat().st_size, place.last) for path in paths]
    keeps_null = pipeline.spec.output.keeps_null_partition
    return output_files(files, sink, _written(pipeline), keeps_null=keeps_null)


def _note(pipeline: Pipeline, planned: Plan, generation: str, start: Start) -> GenerationNote:
    layout, spec = pipeline.layout, pipeline.spec
    return GenerationNote(
        generation=generation,
        query_id=str(uuid.uuid4()),
        checkpoint=layout.checkpoint(generation),
        sink=layout.sink(generation),
        writes=writes_of(spec),
        format=spec.output.format,
        mode=spec.output.mode,
        keys=keys_of(spec),
        pipeline_class=planned.pipeline_class,
        table_schema=start.table_schema,
        partition_by=spec.output.partition_by,
        null_partition=spec.output.null_partition,
        timezone=spec.timezone,
        spec_hash=start.spec_hash,
        code_hash=start.code_hash,
        born=start.at,
    )


def _is_data(path: Path, sink: Path) -> bool:
    # A partition's column may begin with an underscore; Spark's own folders have no `=`.
    folders = path.relative_to(sink).parts[:-1]
    return not path.name.startswith((".", "_")) and all("=" in name for name in folders)


def _written(pipeline: Pipeline) -> WriteFormat:
    output = pipeline.spec.output
    return written_by(output) if output.mode is OutputMode.APPEND else PARQUET
