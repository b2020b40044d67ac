"""A source in Spark: the questions that every kind answers with DataFrames."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tidemill.engine.sources.columns import schema_of
from tidemill.engine.sources.input_gone import batch_gone
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.sources.open_source import SourceSpec
from tidemill.spark_logs.offset_ranges import Range
from tidemill.spec.column_types import quoted
from tidemill.spec.pipeline import Pipeline


@dataclass(frozen=True)
class SparkSource(Generic[SourceSpec]):
    """A source of a pipeline; a kind that gives nothing twice overrides `stream` only.

    Args:
        spec: What the spec says of it, or said when it was read.
    """

    session: SparkSession
    pipeline: Pipeline
    name: str
    spec: SourceSpec

    def stream(self, *, continuous: bool = False) -> DataFrame:
        """The new rows: the source's columns, `_corrupt` (text or null) and `_origin` (text).

        The query's checkpoint knows the source by its name, so that one can be added or dropped.

        Args:
            continuous: Whether it is for a continuous query.
        """
        raise NotImplementedError

    def schema(self) -> StructType:
        """The columns that the transform sees."""
        if self.spec.ddl is not None:
            return schema_of(self.spec.ddl, f"sources.{self.name}.schema")
        return self.stream().select(*map(quoted, self.spec.columns)).schema

    def empty(self) -> DataFrame:
        """A batch without rows that has the schema of the stream."""
        return self.session.createDataFrame([], self.stream().schema)

    def read_again(self, ledger: Ledger, batch: Batch, before: Batch | None) -> DataFrame:
        """The rows that a committed batch has read, with the schema of the stream.

        Args:
            before: The batch before it; None for the first.

        Raises:
            InputGone: the input is not there any more as it was, or the kind gives nothing twice.
        """
        why = f"a source of kind {self.pipeline.spec.sources[self.name].kind} gives nothing twice"
        raise batch_gone(self.name, batch, why)

    def read_part(
        self, files: Sequence[tuple[Path, InputFile]], ranges: Sequence[Range]
    ) -> DataFrame:
        """The rows of a part of the published input, with the schema of the stream.

        Args:
            files: Files where they are now, each as it was when it was read.
            ranges: Ranges of records, in the order in which they were read.

        Raises:
            InputGone: Spark lists other files.
        """
        return self.empty()
