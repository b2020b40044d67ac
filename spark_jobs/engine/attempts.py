"""The sink of modes `update` and `complete`, for which Spark has none: attempts with a manifest.

Spark calls `foreachBatch` at least once per batch. Each call writes to a directory of its own, and
whoever first puts the manifest has written the batch; every later call finds it and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import StructType

from spark_jobs.contract.errors import TidemillError
from spark_jobs.contract.output import Output, OutputMode
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.engine import raised
from spark_jobs.engine.progress import QueryFailed, of_spark
from spark_jobs.engine.query import ROWS_READ
from spark_jobs.ledger.attempts import (
    AttemptFile,
    Manifest,
    folder_of,
    new_attempt,
    prove_planned,
    put_manifest,
    read_manifest,
)
from spark_jobs.ledger.footers import read_footer
from spark_jobs.ledger.keyed_rows import KeyedFile, doubled, without_key
from spark_jobs.ledger.lease import Lease
from spark_jobs.ledger.offset_log import OffsetEntry, read_offsets
from spark_jobs.ledger.partition_values import is_rejected, partition_values


class KeyTwice(QueryFailed):
    """A batch has several rows of one key; carries `batch`, `keys`, `example` and `rows`."""


class KeyNull(QueryFailed):
    """A row has no value in one of the key columns; carries `batch`, `keys` and `example`."""


class TooManyRows(QueryFailed):
    """The whole result is larger than the spec allows; carries `batch`, `rows` and `max_rows`."""


def write(
    writer: DataStreamWriter, pipeline: Pipeline, generation: str, lease: Lease, run_id: str
) -> DataStreamWriter:
    """Let a query write its batches as attempts.

    Args:
        writer: Of the query.
        pipeline: Whose query it is.
        generation: Such as `live-0001`.
        lease: Held by the caller; it is looked at before a manifest is put.
        run_id: Of the DAG run.
    """
    attempts = Attempts(SparkSession.active(), pipeline, generation, lease, run_id)
    return writer.foreachBatch(attempts)


@dataclass(frozen=True)
class Attempts:
    """The function that Spark calls with each batch.

    Args:
        session: That the query was started in; a batch comes with a copy of it.
        pipeline: Whose query it is.
        generation: Such as `live-0001`.
        lease: Held for as long as the query runs.
        run_id: Of the DAG run.
    """

    session: SparkSession
    pipeline: Pipeline
    generation: str
    lease: Lease
    run_id: str

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch, unless that was done.

        Raises:
            QueryFailed: the rows cannot be what replaces others.
            ManifestForeign: the batch was written from other input.
            LeaseLost: another process writes now.
        """
        try:
            self._write(rows, batch)
        except TidemillError as error:
            raised.keep(self.pipeline.name, error)
            raise
        except PySparkException as error:
            # Else every error in here would count as the user's function's.
            raised.keep(self.pipeline.name, of_spark(error))
            raise

    @property
    def sink(self) -> Path:
        return self.pipeline.layout.sink(self.generation)

    @property
    def output(self) -> Output:
        return self.pipeline.spec.output

    def _write(self, rows: DataFrame, batch: int) -> None:
        # Spark writes down what it has planned before it calls.
        offsets = self.pipeline.layout.checkpoint(self.generation) / "offsets" / str(batch)
        planned = read_offsets(offsets, batch)
        if self._prove(batch, planned):
            # Spark wants the state of this batch, and makes it only as its rows are read.
            rows.write.format("noop").mode("overwrite").save()
            return
        attempt = new_attempt(self.lease.epoch)
        folder = folder_of(self.sink, batch) / attempt
        (
            rows.write.partitionBy(*self.output.sink_partitions)
            .options(**{name: str(value) for name, value in self.output.options.items()})
            .option("maxRecordsPerFile", self.output.maxRecordsPerFile)
            .parquet(str(folder))
        )
        files = tuple(_files(folder))
        self._refuse(folder, files, rows.schema, batch)
        self.lease.check()
        manifest = self._manifest(planned, attempt, files)
        if not put_manifest(self.sink, manifest):
            # Another driver was faster with the same input: which of the two, is all the same.
            self._prove(batch, planned)

    def _prove(self, batch: int, planned: OffsetEntry) -> bool:
        """Whether a batch is written; refused if that was from other input."""
        written = read_manifest(self.sink, batch)
        if written is not None:
            prove_planned(written, planned, self.sink)
        return written is not None

    def _manifest(
        self, planned: OffsetEntry, attempt: str, files: tuple[AttemptFile, ...]
    ) -> Manifest:
        return Manifest(
            batch=planned.batch,
            attempt=attempt,
            epoch=self.lease.epoch,
            run_id=self.run_id,
            offsets=dict(planned.sources),
            files=files,
            rows_in=self._rows_read(),
            written=datetime.now(UTC),
        )

    def _refuse(
        self, folder: Path, files: tuple[AttemptFile, ...], schema: StructType, batch: int
    ) -> None:
        good = [
            (file, KeyedFile(folder / file.path, values))
            for file in files
            if not is_rejected(values := partition_values(folder / file.path, folder))
        ]
        rows = sum(file.rows for file, _ in good)
        if self.output.mode is OutputMode.COMPLETE and rows > self.output.max_rows:
            raise TooManyRows(
                f"Batch {batch} has {rows:,} rows, and output.max_rows is "
                f"{self.output.max_rows:,}.",
                remedy="Raise it, or use output.mode update, which writes changed rows only.",
                batch=batch,
                rows=rows,
                max_rows=self.output.max_rows,
            )
        if self.output.keys:
            self._refuse_keys([file for _, file in good], schema, batch)

    def _refuse_keys(self, files: list[KeyedFile], schema: StructType, batch: int) -> None:
        names = self.output.keys
        keys = to_arrow_schema(StructType([schema[name] for name in names]), timezone="UTC")
        nowhere = without_key(files, keys)
        if nowhere is not None:
            raise KeyNull(
                f"Batch {batch} has a row without a key: {dict(nowhere)}. Null tells no row from "
                "another, and no database takes it for a key.",
                remedy="Reject such rows by a row rule, or give them a value in the transform.",
                batch=batch,
                keys=names,
                example=dict(nowhere),
            )
        twice = doubled(files, keys)
        if twice is not None:
            raise KeyTwice(
                f"Batch {batch} has {twice.rows} rows with the key {dict(twice.key)}, and which "
                "of them is the last nobody can say.",
                remedy="Aggregate to one row per key in the transform, or name more output.keys.",
                batch=batch,
                keys=names,
                example=dict(twice.key),
                rows=twice.rows,
            )

    def _rows_read(self) -> int | None:
        """The rows that the batch read, counted as they were; None where nothing counts them."""
        names = {query.name: query for query in self.session.streams.active}
        query = names.get(self.pipeline.name)
        if query is None:
            return None
        metrics = query._jsq.streamingQuery().lastExecution().observedMetrics()
        counts = [
            int(metrics.apply(name).getLong(0))
            for name in (f"{ROWS_READ}.{source}" for source in self.pipeline.spec.sources)
            if metrics.contains(name)
        ]
        return sum(counts) if counts else None


def _files(folder: Path) -> Iterator[AttemptFile]:
    for path in sorted(folder.rglob("*.parquet")):
        relative = path.relative_to(folder)
        # What a failed task left lies under `_temporary`; checksums begin with a dot.
        if any(part.startswith((".", "_temporary")) for part in relative.parts):
            continue
        status, footer = path.stat(), read_footer(path)
        yield AttemptFile(
            path=str(relative),
            size=status.st_size,
            rows=footer.rows,
            modified_ms=status.st_mtime_ns // 1_000_000,
        )
