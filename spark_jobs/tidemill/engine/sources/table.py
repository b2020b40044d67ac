"""A table source in Spark: the rows of increments that another pipeline has published."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemill.contract.layout import Layout
from tidemill.engine.sources import published_table
from tidemill.engine.sources.columns import CORRUPT, ORIGIN
from tidemill.engine.sources.published_table import PublishedTable, by_task
from tidemill.engine.sources.spark_source import SparkSource
from tidemill.file_formats import parquet_rows
from tidemill.file_formats.delta_changes import (
    AddedFile,
    files_between,
    files_standing,
    table_head,
)
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.kafka_records import KafkaRecords
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.offset_ranges import Range, joined
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.table import TableSource


@dataclass(frozen=True)
class SparkTableSource(SparkSource[TableSource]):
    """Rows as another pipeline published them; typed, and never malformed."""

    def stream(self, *, continuous: bool = False) -> DataFrame:
        kind = self._register()
        reader = self.session.readStream.name(self.name).format(kind).schema(self.schema())
        holds = str(self.spec.swapped is Rating.HOLD).lower()
        return self._rows(
            reader.option("path", str(self._table)).option("holds_swaps", holds).load()
        )

    def read_again(self, ledger: Ledger, batch: Batch, before: Batch | None) -> DataFrame:
        """The rows as they were added, whatever was swapped since."""
        ranges = KafkaRecords(ledger).read_by(batch, before).get(self.name, ())
        return self._read(
            [file for one in ranges for file in files_between(self._table, one.first, one.until)]
        )

    def read_part(
        self, files: Sequence[tuple[Path, InputFile]], ranges: Sequence[Range]
    ) -> DataFrame:
        """The rows of ranges, of which those from the beginning stand as swaps have left them."""
        head = table_head(self._table)
        spans = [(one.first, one.until) for one in joined(ranges)]
        return self._read([] if head is None else files_standing(self._table, head, spans))

    @property
    def _table(self) -> Path:
        return Layout(self.pipeline.layout.root, self.spec.pipeline).table

    def _register(self) -> str:
        # The workers of a cluster have pyarrow, and nothing of Tidemill.
        for module in (published_table, parquet_rows):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        self.session.dataSource.register(PublishedTable)
        return PublishedTable.name()

    def _read(self, files: Sequence[AddedFile]) -> DataFrame:
        if not files:
            return self.empty()
        reader = self.session.read.format(self._register()).schema(self.schema())
        return self._rows(reader.option("files", json.dumps(by_task(files))).load())

    def _rows(self, rows: DataFrame) -> DataFrame:
        return rows.select(
            *self.spec.columns,
            F.lit(None).cast("string").alias(CORRUPT),
            F.lit(f"table:{self.spec.pipeline}").alias(ORIGIN),
        )
