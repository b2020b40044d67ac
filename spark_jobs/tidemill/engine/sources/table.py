"""A table source in Spark: the rows of increments that another pipeline has published."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemill.contract.layout import Layout
from tidemill.contract.objects.root_connection import root_variables
from tidemill.engine.sources import published_table
from tidemill.engine.sources.columns import CORRUPT, ORIGIN
from tidemill.engine.sources.file import FILES_PER_BATCH
from tidemill.engine.sources.published_table import PublishedTable, by_task
from tidemill.engine.sources.spark_source import SparkSource
from tidemill.file_formats import parquet_rows
from tidemill.file_formats.delta_changes import (
    AddedFile,
    files_between,
    files_standing,
    table_head,
)
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.ranges_read import RangesRead
from tidemill.sources.kinds import open_source
from tidemill.spark_logs.offset_ranges import Range, joined
from tidemill.spec.column_types import quoted
from tidemill.spec.sources.table import Swapped, TableSource
from tidemill.storage.tables_read import mark_read


@dataclass(frozen=True)
class SparkTableSource(SparkSource[TableSource]):
    """Rows as another pipeline published them; typed, and never malformed."""

    def stream(self, *, continuous: bool = False) -> DataFrame:
        mark_read(self._upstream)
        kind = self._register()
        reader = self.session.readStream.name(self.name).format(kind).schema(self.schema())
        options = {
            "path": str(self._table),
            "held_swaps": json.dumps(self._held_swaps()),
            "limits": json.dumps(self._limits()),
        }
        return self._rows(reader.options(**options).load())

    def read_again(self, ledger: Ledger, batch: Batch, before: Batch | None) -> DataFrame:
        """The rows as they were added, whatever was swapped since."""
        ranges = RangesRead(ledger).read_by(batch, before).get(self.name, ())
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
    def _upstream(self) -> Layout:
        return Layout(self.pipeline.layout.root, self.spec.pipeline)

    @property
    def _table(self) -> Path:
        return self._upstream.table

    def _held_swaps(self) -> dict[str, Any] | None:
        """The swaps that a query must not read past; None where it may read past all.

        In a generation that is being built they are due once it is live.
        """
        if self.spec.swapped is not Swapped.HOLD or self.pipeline.generation is not None:
            return None
        head = table_head(self._table)
        due = open_source(self.pipeline, self.name).due(Snapshot(self.pipeline.layout))
        return {
            "versions": [] if due is None else list(due.open_versions),
            "after": -1 if head is None else head.version,
        }

    def _limits(self) -> dict[str, int | None]:
        files, size = self.spec.maxFilesPerTrigger, self.spec.maxBytesPerTrigger
        default = FILES_PER_BATCH if size is None else None
        return {"files": files or default, "bytes": size}

    def _register(self) -> str:
        send_by_value()

        class OfRoot(PublishedTable):
            # The processes of Spark that plan and read may have another environment.
            VARIABLES = root_variables()

        self.session.dataSource.register(OfRoot)
        return OfRoot.name()

    def _read(self, files: Sequence[AddedFile]) -> DataFrame:
        if not files:
            return self.empty()
        reader = self.session.read.format(self._register()).schema(self.schema())
        options = {"path": str(self._table), "files": json.dumps(by_task(files))}
        return self._rows(reader.options(**options).load())

    def _rows(self, rows: DataFrame) -> DataFrame:
        return rows.select(
            *map(quoted, self.spec.columns),
            F.lit(None).cast("string").alias(CORRUPT),
            F.lit(f"table:{self.spec.pipeline}").alias(ORIGIN),
        )


def send_by_value() -> None:
    """Send the reading modules themselves: the workers of a cluster have nothing of Tidemill."""
    for module in (published_table, parquet_rows):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
