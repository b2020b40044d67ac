"""Static inputs: pinned before a query starts, and read as they were pinned."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import SpecError
from tidemill.contract.syntax.hadoop_glob import exactly
from tidemill.engine.sources.columns import schema_of
from tidemill.ledger.static_pins import BatchTime, StaticLost, StaticPin, pin_batch
from tidemill.sources.static_files import pin_files, pin_table
from tidemill.sources.static_objects import pin_objects
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.static_inputs import BatchStatic, DatabaseStatic, FileStatic, Static, TableStatic

Pins = Mapping[str, StaticPin]
Statics = Mapping[str, DataFrame]


class StaticOfItself(SpecError):
    """A pipeline reads its own table as a static input; carries `static`."""


def pin_statics(
    pipeline: Pipeline,
    place: Path | None = None,
    root: Path | None = None,
    batch: BatchTime | None = None,
) -> Pins:
    """Every static input of a pipeline as it is now; the caller holds the lease.

    Args:
        place: Where the copies go; the pipeline's own folder where not given.
        root: Under which other pipelines' tables are; the pipeline's own where not given.
        batch: The run that reads; one of this moment where not given, as for a preview.

    Raises:
        Refused: one is not there, or not as the spec says.
        TransientError: one cannot be reached, or changes right now.
    """
    place, root = place or pipeline.layout.statics, root or pipeline.layout.root
    spec = pipeline.spec
    batch = batch or BatchTime(at=wall_clock(), run_id="")
    return {
        name: _pin(pipeline, name, one, place, root, batch) for name, one in spec.statics.items()
    }


def read_statics(
    session: SparkSession, pipeline: Pipeline, pins: Pins, place: Path | None = None
) -> Statics:
    """The pinned static inputs as DataFrames.

    Args:
        pins: One of every static input of its spec.
        place: Where the copies are; the pipeline's own folder where not given.

    Raises:
        StaticLost: a copy is not whole any more.
    """
    place = place or pipeline.layout.statics
    return {
        name: _read(session, name, static, pins[name], place / name / pins[name].identity)
        for name, static in pipeline.spec.statics.items()
    }


@contextmanager
def statics_now(session: SparkSession, pipeline: Pipeline) -> Iterator[Statics]:
    """The static inputs as a run would read them now; the pipeline is not touched."""
    with TemporaryDirectory(prefix="tidemill-static-") as scratch:
        place = Path(scratch)
        pins = pin_statics(pipeline, place)
        yield read_statics(session, pipeline, pins, place)


@contextmanager
def persisted(pipeline: Pipeline, statics: Statics) -> Iterator[None]:
    """Keep in memory what the spec says to, for as long as the context lasts."""
    frames = [statics[name] for name, one in pipeline.spec.statics.items() if one.persist]
    for frame in frames:
        frame.persist()
    try:
        yield
    finally:
        for frame in frames:
            frame.unpersist()


def _pin(
    pipeline: Pipeline, name: str, static: Static, place: Path, root: Path, batch: BatchTime
) -> StaticPin:
    if static.reads_pipeline == pipeline.name:
        raise StaticOfItself(
            f"{pipeline.spec_file}: statics.{name} is the table of this very pipeline.",
            remedy="Join the stream with itself by a window, or keep state of your own.",
            path=pipeline.spec_file,
            field=f"statics.{name}.pipeline",
            static=name,
        )
    match static:
        case BatchStatic():
            return pin_batch(batch)
        case FileStatic() if static.fetch is not None:
            return pin_objects(name, static, place / name, os.environ)
        case FileStatic():
            return pin_files(name, static, place / name)
        case TableStatic():
            return pin_table(name, static, root, place / name)
        case DatabaseStatic():
            # A pipeline without a database needs no driver of one.
            from tidemill.engine.sources.static_database import pin_query

            return pin_query(name, static, place / name)


def _read(
    session: SparkSession, name: str, static: Static, pin: StaticPin, folder: Path
) -> DataFrame:
    if pin.batch is not None:
        return _batch_row(session, pin.batch)
    missing = pin.missing_in(folder)
    if missing is not None:
        raise StaticLost(
            f"statics.{name}: {folder / missing} is gone or was changed, and a batch has to read "
            "it again as it was.",
            remedy=f"Restore {folder} from a backup.",
            static=name,
            file=folder / missing,
        )
    files = [exactly(folder / file.path) for file in pin.files]
    source = static.as_source
    if source is not None:
        reader = session.read.format(source.format).options(**source.reader_options)
        if source.rules.malformed_rows:
            reader = reader.option("mode", "FAILFAST")
        schema = schema_of(source.schema_, f"statics.{name}.schema")
        reader = reader.option("basePath", str(folder))
    else:
        reader = session.read.format("parquet")
        schema = _schema_of_copy(name, static, pin)
    return reader.schema(schema).load(files)


def _batch_row(session: SparkSession, batch: BatchTime) -> DataFrame:
    """The row of a static input of the kind `batch`, as constants."""
    times = (batch.at, batch.interval_start, batch.interval_end)
    at, start, end = (
        F.timestamp_micros(F.lit(None if one is None else _microseconds(one)).cast("bigint"))
        for one in times
    )
    return session.range(1, numPartitions=1).select(
        at.alias("at"),
        F.lit(batch.run_id).alias("run_id"),
        start.alias("interval_start"),
        end.alias("interval_end"),
    )


def _microseconds(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _schema_of_copy(name: str, static: Static, pin: StaticPin) -> StructType:
    if static.ddl is None:
        return StructType.fromJson(dict(pin.table_schema or {}))
    return schema_of(static.ddl, f"statics.{name}.schema")
