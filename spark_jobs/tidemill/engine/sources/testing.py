"""Sources for testing: rows that Spark generates, and lines from a socket."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemill.engine.sources.columns import CORRUPT, ORIGIN
from tidemill.engine.sources.spark_source import SparkSource
from tidemill.spec.column_types import quoted
from tidemill.spec.sources.testing import TrialSource


@dataclass(frozen=True)
class SparkTrialSource(SparkSource[TrialSource]):
    """Rows of a trial source; none of them can be malformed."""

    def stream(self, *, continuous: bool = False) -> DataFrame:
        reader = self.session.readStream.name(self.name).format(self.spec.kind)
        rows = reader.options(**self.spec.reader_options).load()
        return rows.select(
            *map(quoted, self.spec.columns),
            F.lit(None).cast("string").alias(CORRUPT),
            F.lit(self.spec.origin).alias(ORIGIN),
        )
