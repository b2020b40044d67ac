"""The sink of modes `update` and `complete`, for which Spark has none: attempts with a manifest.

Spark calls `foreachBatch` at least once per batch. Each call writes to a directory of its own, and
whoever first puts the manifest has written the batch; every later call finds it and writes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from tidemill.contract.errors import TidemillError
from tidemill.engine import callback_errors
from tidemill.engine.query.planned_query import ROWS_READ
from tidemill.engine.query.row_counts import StageAttempts
from tidemill.engine.sinks.row_keys import good_files, refuse_irreplaceable
from tidemill.engine.spark_errors import from_spark
from tidemill.engine.spark_internals.java_errors import SPARK_ERRORS
from tidemill.engine.spark_internals.query_state import observed_counts
from tidemill.file_formats.parquet import read_footer
from tidemill.ledger.manifests import (
    AttemptFile,
    Manifest,
    folder_of,
    new_attempt,
    put_manifest,
    read_manifest,
    verify_planned,
)
from tidemill.spark_logs.offset_log import OffsetEntry, read_offsets
from tidemill.spark_logs.spark_files import planned_files, with_checksums
from tidemill.spec.output import Output
from tidemill.storage.run_context import LeasedRun
from tidemill.storage.sync import sync


def write(
    session: SparkSession, writer: DataStreamWriter, run: LeasedRun, generation: str
) -> DataStreamWriter:
    """Let a query write its batches as attempts.

    Args:
        run: The run; its lease is checked before a manifest is put.
    """
    return writer.foreachBatch(
        Attempts(session, run, generation, StageAttempts(session.sparkContext))
    )


@dataclass(frozen=True)
class Attempts:
    """The function that Spark calls with each batch.

    Args:
        session: That the query was started in; a batch comes with a copy of it.
        run: The run, which holds the lease for as long as the query runs.
        stages: Looks whether Spark has computed a part of a batch again.
    """

    session: SparkSession
    run: LeasedRun
    generation: str
    stages: StageAttempts

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
            callback_errors.keep(self.run.pipeline.name, error)
            raise
        except SPARK_ERRORS as error:
            # Otherwise every error in here would count as the user's function's.
            callback_errors.keep(self.run.pipeline.name, from_spark(error))
            raise

    @property
    def sink(self) -> Path:
        return self.run.layout.sink(self.generation)

    @property
    def output(self) -> Output:
        return self.run.pipeline.spec.output

    def _write(self, rows: DataFrame, batch: int) -> None:
        # Spark writes down what it has planned before it calls.
        checkpoint = self.run.layout.checkpoint(self.generation)
        planned = read_offsets(checkpoint / "offsets" / str(batch), batch)
        if self._prove(batch, planned):
            # Spark wants the state of this batch, and makes it only as its rows are read.
            rows.write.format("noop").mode("overwrite").save()
            return
        attempt = new_attempt(self.run.epoch)
        folder = folder_of(self.sink, batch) / attempt
        (
            rows.write.partitionBy(*self.output.sink_partitions)
            .options(**{name: str(value) for name, value in self.output.options.items()})
            .option("maxRecordsPerFile", self.output.maxRecordsPerFile)
            .parquet(str(folder))
        )
        files = tuple(_files(folder))
        good = good_files([folder / file.path for file in files], folder, self.output)
        refuse_irreplaceable(good, rows.schema, self.output, batch)
        # The manifest counts from then on, and only for this plan.
        sync(planned_files(checkpoint, batch), self.run.layout.root)
        sync(with_checksums(folder / file.path for file in files), self.run.layout.root)
        self.run.lease.check()
        manifest = self._manifest(planned, attempt, files)
        # If another driver was faster with the same input: which of the two, is all the same.
        verify_planned(put_manifest(self.sink, manifest), planned, self.sink)

    def _prove(self, batch: int, planned: OffsetEntry) -> bool:
        """Whether a batch is written; refused if that was from other input."""
        written = read_manifest(self.sink, batch)
        if written is not None:
            verify_planned(written, planned, self.sink)
        return written is not None

    def _manifest(
        self, planned: OffsetEntry, attempt: str, files: tuple[AttemptFile, ...]
    ) -> Manifest:
        return Manifest(
            batch=planned.batch,
            attempt=attempt,
            epoch=self.run.epoch,
            run_id=self.run.run_id,
            offsets=dict(planned.sources),
            files=files,
            rows_in=self._rows_read(),
            written=self.run.clock(),
        )

    def _rows_read(self) -> int | None:
        """The rows that the batch read, counted as they were; None where nothing counts them."""
        names = {query.name: query for query in self.session.streams.active}
        query = names.get(self.run.pipeline.name)
        if query is None:
            return None
        sources = self.run.pipeline.spec.sources
        counts = observed_counts(query, (f"{ROWS_READ}.{source}" for source in sources))
        known = [count for count in counts if count is not None]
        whole = bool(known) and len(known) == len(counts)
        return None if self.stages.repeated(query) or not whole else sum(known)


def _files(folder: Path) -> Iterator[AttemptFile]:
    for path in sorted(folder.rglob("*.parquet")):
        relative = path.relative_to(folder)
        # What a failed task left is under one of these; checksums begin with a dot.
        if any(part.startswith((".", "_temporary", "__magic")) for part in relative.parts):
            continue
        status, footer = path.stat(), read_footer(path)
        yield AttemptFile(
            path=str(relative),
            size=status.st_size,
            rows=footer.rows,
            modified_ms=status.st_mtime_ns // 1_000_000,
        )
