"""Preview: runs transform and suite on a sample, without touching the pipeline.

The sample goes through the very plan that the stream runs, as a batch, and through the very gate
that judges increments, all under a root of its own that is gone afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.log import Log
from tidemill.contract.report import Report
from tidemill.increments.mask import masked_row, refuse_unknown
from tidemill.ledger.ledger import Batch, Ledger, Start
from tidemill.ledger.output_file import output_files
from tidemill.spark_logs.sink_log import SinkFile
from tidemill.spec.column_types import quoted
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.root import root as root_of
from tidemill.spec.sources.file import FileSource
from tidemill.steps.gate import gate
from tidemill.steps.parts.run import perform
from tidemill.steps.read_only.checks.spec_notes import notes_of
from tidemill.storage import documents
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidemill.engine.query.planned_query import Plan

RUN_ID = "preview"


class NoSample(UsageError):
    """A sample does not exist, or the source would not read it; carries `path`."""


@dataclass(frozen=True)
class Preview:
    """The result of a preview.

    Args:
        rejected: Rejected ones.
        good: Some good rows, column -> value.
        refused: Some rejected rows: reason, file, record, partition.
        gate: The gate's report, whose links lead nowhere any more; None where there is no gate.
    """

    rows: int
    rejected: int
    good: tuple[dict[str, Any], ...]
    refused: tuple[dict[str, Any], ...]
    gate: Report | None


def preview(
    name: str,
    sample: Sequence[Path],
    limit: int,
    log: Log,
    environ: Mapping[str, str] = os.environ,
    *,
    masked: bool = True,
) -> Preview:
    """Run transform and suite on a sample; expectations of the whole table see the sample only.

    Args:
        sample: Input files of it.
        limit: Most rows of either kind to return.
        log: Gets lines about progress.
        environ: `TIDEMILL_ROOT` in it does not matter.
        masked: Hide the values of the columns that `gate.mask` names.

    Raises:
        SpecError: spec or transform do not load.
        NoSample: a file is not there, or the source would not read it.
        QueryFailed: Spark refuses the plan or a row.
        MaskUnknown: `gate.mask` names a column that does not exist.
    """
    with TemporaryDirectory(prefix="tidemill-preview-") as root:
        pipeline = open_pipeline(name, {**environ, "TIDEMILL_ROOT": root})
        for note in notes_of(name, pipeline.spec):
            log(note)
        samples = {source: _readable(pipeline, source, sample) for source in pipeline.spec.sources}
        # The samples stand for the sources; static inputs are those of a run of today.
        tables = any(one.reads_pipeline for one in pipeline.spec.statics.values())
        mask = pipeline.spec.gate.mask if masked else ()
        return _preview(pipeline, samples, limit, log, mask, root_of(environ) if tables else None)


def _preview(
    pipeline: Pipeline,
    samples: Mapping[str, list[Path]],
    limit: int,
    log: Log,
    mask: Collection[str],
    tables: Path | None,
) -> Preview:
    # Spark is imported here so that a preview that is refused never loads it.
    from pyspark.errors import PySparkException

    from tidemill.engine.query.build import plan_rows
    from tidemill.engine.session import open_session
    from tidemill.engine.sources.file import read_batch
    from tidemill.engine.sources.static_inputs import pin_statics, read_statics
    from tidemill.engine.spark_errors import from_spark
    from tidemill.file_formats.reader import REJECT

    sink = pipeline.layout.sink(FIRST_GENERATION)
    size = sum(path.stat().st_size for paths in samples.values() for path in paths)
    session = open_session(pipeline, "preview", size)
    try:
        rows = {
            name: read_batch(session, file_source(pipeline, name), [str(path) for path in paths])
            for name, paths in samples.items()
        }
        pins = pin_statics(pipeline, root=tables)
        plan = plan_rows(rows, pipeline, read_statics(session, pipeline, pins))
        plan.rows.write.partitionBy(*pipeline.spec.output.sink_partitions).parquet(str(sink))
        # One by one: Spark warns of a directory whose name begins with an underscore.
        files = sorted(str(path) for path in sink.rglob("*.parquet"))
        reader = session.read.schema(plan.rows.schema).option("basePath", str(sink))
        written = reader.parquet(*files) if files else plan.rows.limit(0)
        fine = written.where(f"{REJECT} IS NULL").select(*map(quoted, plan.table_schema.names))
        refused = written.where(f"{REJECT} IS NOT NULL").select(f"{REJECT}.*")
        refuse_unknown(mask, plan.table_schema.names)
        good, bad = _first(fine, limit, mask), _first(refused, limit, mask)
        # How many rows went into an aggregation cannot be told from its result.
        read = sum(frame.count() for frame in rows.values())
    except PySparkException as error:
        raise from_spark(error) from error
    batch = _write_down(pipeline, plan, read)
    if not pipeline.spec.published:
        return Preview(batch.rows, batch.rejected, good, bad, None)
    report = perform("gate", gate, RunContext(pipeline, RUN_ID, log, tells=False))
    return Preview(batch.rows, batch.rejected, good, bad, report)


def file_source(pipeline: Pipeline, name: str) -> FileSource:
    """A source that a sample of files can stand for.

    Raises:
        NoSample: it reads no files.
    """
    source = pipeline.spec.sources_of(FileSource).get(name)
    if source is None:
        raise NoSample(
            f"sources.{name} is of kind {pipeline.spec.sources[name].kind}, and a sample is made "
            "of files.",
            remedy=f"Try it with: tidemill stream {pipeline.name} --show",
            source=name,
        )
    return source


def _readable(pipeline: Pipeline, name: str, sample: Sequence[Path]) -> list[Path]:
    """The sample files of one source: `source=file`, or any file where there is one source."""
    source = file_source(pipeline, name)
    prefix = f"{name}=" if len(pipeline.spec.sources) > 1 else ""
    given = [str(path) for path in sample if str(path).startswith(prefix)]
    if not given:
        raise NoSample(
            f"There is no sample for sources.{name}.",
            remedy=f"Add --input {name}=FILE.",
            source=name,
        )
    return [_checked(Path(text.removeprefix(prefix)), source) for text in given]


def _checked(path: Path, source: FileSource) -> Path:
    pattern = source.reader_option("pathGlobFilter") or "*"
    if not path.is_file():
        raise NoSample(f"There is no file {path}.", remedy="Give --input an input file.", path=path)
    if not fnmatch(path.name, pattern) or path.name.startswith((".", "_")):
        raise NoSample(
            f"The source would pass over {path.name}: it reads '{pattern}' and no hidden files.",
            remedy="Rename the sample as the feed would name it.",
            path=path,
        )
    return path.resolve()


def _first(frame: DataFrame, limit: int, mask: Collection[str]) -> tuple[dict[str, Any], ...]:
    # Arrow keeps the session's time zone, which collect() turns into this machine's.
    found = _values(frame.limit(limit).toArrow())
    return tuple(masked_row(row, mask) for row in found)


def _values(rows: pa.Table) -> list[dict[str, Any]]:
    try:
        return list(rows.to_pylist(maps_as_pydicts="lossy"))
    except (OverflowError, ValueError):
        # Python has the years 1 to 9999; as texts every date can be shown.
        texts = [
            pa.field(field.name, pa.string()) if pa.types.is_temporal(field.type) else field
            for field in rows.schema
        ]
        return list(rows.cast(pa.schema(texts)).to_pylist(maps_as_pydicts="lossy"))


def _write_down(pipeline: Pipeline, plan: Plan, rows_in: int) -> Batch:
    """Enter the written files into the scratch root's ledger, for the gate to find."""
    ledger = Ledger(pipeline.layout, FIRST_GENERATION)
    now = wall_clock()
    found = sorted(ledger.sink.rglob("*.parquet"))
    files = output_files(
        [SinkFile(path, path.stat().st_size, 0) for path in found],
        ledger.sink,
        keeps_null=pipeline.spec.output.keeps_null_partition,
    )
    start = Start(
        epoch=1,
        run_id=RUN_ID,
        spec_hash="",
        code_hash="",
        table_schema=plan.table_schema.jsonValue(),
        last_written=-1,
        at=now,
    )
    batch = Batch(
        generation=FIRST_GENERATION,
        batch=0,
        # As of a source of files, for which an empty delivery is not a pass.
        offsets={source: {"logOffset": 0} for source in pipeline.spec.sources},
        inputs=(),
        outputs=files,
        rows_in=rows_in,
        rows=sum(file.rows for file in files if not file.rejected),
        rejected=sum(file.rows for file in files if file.rejected),
        watermark_before_ms=0,
        watermark_after_ms=0,
        start=start.epoch,
        run_id=RUN_ID,
        spec_hash="",
        code_hash="",
        committed=now,
    )
    ledger.start(start)
    return documents.put_if_absent(ledger.folder / "000000.json", batch)
