"""Collects a replay's output batch by batch, and leaves it in a scratch generation's sink."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructType

from tidemill.contract.errors import TidemillError
from tidemill.engine import callback_errors
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.recompute.scratch_generation import write_rows
from tidemill.engine.sinks.row_keys import good_files, refuse_irreplaceable
from tidemill.engine.spark_errors import from_spark
from tidemill.engine.spark_internals.java_errors import SPARK_ERRORS
from tidemill.file_formats.reader import REJECT
from tidemill.journal.recomputation import BatchRange
from tidemill.spec.column_types import quoted
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline

Keep = Callable[[DataFrame], DataFrame]

BATCH = "_tidemill_batch"
PLACE = "_tidemill_place"


@dataclass(frozen=True)
class ReplayOutput:
    """The rows that come out.

    `keep` sees a batch's rows when they are computed: as a part of the query it could be pushed
    below the watermark, which would then be that of the rows kept.

    Args:
        place: The scratch generation, which is also the query's name.
        stage: Where the rows of each batch are until the last has come.
        keep: A filter of good and rejected rows.
    """

    session: SparkSession
    pipeline: Pipeline
    place: BatchRange
    stage: Path
    keep: Keep

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Called by Spark with what a batch gives out."""
        try:
            self._put(rows, batch)
        except TidemillError as error:
            callback_errors.keep(self.place.generation, error)
            raise
        except SPARK_ERRORS as error:
            callback_errors.keep(self.place.generation, from_spark(error))
            raise

    def leave(self, planned: Plan) -> None:
        """Put what was kept of all batches into the sink; of mode `update` the last of each key.

        Args:
            planned: The query that they came out of.
        """
        output = self.pipeline.spec.output
        files = [str(file) for file in sorted(self.stage.rglob("*.parquet"))]
        if not files:
            return
        schema = StructType([*planned.rows.schema.fields]).add(BATCH, IntegerType())
        rows = self.session.read.schema(schema).option("basePath", str(self.stage)).parquet(*files)
        if output.mode is OutputMode.UPDATE:
            rows = self.keep(_last_of_each(rows, output.keys))
        rows = rows.select(*map(quoted, planned.rows.columns))
        write_rows(rows, planned, self.pipeline, self.place)

    def _put(self, rows: DataFrame, batch: int) -> None:
        output = self.pipeline.spec.output
        append = output.mode is OutputMode.APPEND
        place = self.stage / f"{BATCH}={batch}"
        # A key whose last row is not kept has no earlier row kept.
        written = self.keep(rows) if append else rows
        written.write.partitionBy(*output.sink_partitions).mode("overwrite").parquet(str(place))
        if not append:
            good = good_files(place.rglob("*.parquet"), place, output)
            refuse_irreplaceable(good, rows.schema, output, batch)


def _last_of_each(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The last good row of each key, and every rejected row."""
    latest = Window.partitionBy(*(f"`{key}`" for key in keys)).orderBy(F.desc(BATCH))
    good = rows.where(F.col(REJECT).isNull()).withColumn(PLACE, F.row_number().over(latest))
    last = good.where(F.col(PLACE) == 1).drop(PLACE)
    return last.unionByName(rows.where(F.col(REJECT).isNotNull()))
