"""A small real query: a file source, a partitioned file sink and a checkpoint."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemill.spark_logs.checkpoint import Checkpoint, read_checkpoint
from tidemill.spark_logs.sink_log import SinkLog, read_sink_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id long, amount decimal(10,2), at timestamp, k string"


@dataclass(frozen=True)
class Query:
    """The query's directories; every file of its source is a batch."""

    home: Path

    @property
    def source(self) -> Path:
        return self.home / "in put"

    @property
    def sink(self) -> Path:
        return self.home / "_live-0001"

    @property
    def checkpoint(self) -> Path:
        return self.home / "checkpoint"

    def arrive(self, number: int, value: str | None = "a") -> Path:
        """A file of two rows, one of them with a null; as old as its number says."""
        self.source.mkdir(exist_ok=True)
        file = self.source / f"f é#% {number:02d}.json"
        at = f"2024-02-{1 + number % 28:02d}T12:34:56.123456Z"
        rows = [
            {"id": 2 * number, "amount": f"{number}.25", "at": at, "k": value},
            {"id": 2 * number + 1, "amount": f"-{number}.75", "at": at, "k": None},
        ]
        file.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
        return file

    def run(
        self, spark: SparkSession, where: str = "true", partition_by: tuple[str, ...] = ("k",)
    ) -> list[int]:
        """Take in all there is, less what `where` leaves out; the ids of the batches that ran."""
        query = (
            spark.readStream.schema(SCHEMA)
            .option("maxFilesPerTrigger", "1")
            .json(str(self.source))
            .where(where)
            .writeStream.format("parquet")
            .option("path", str(self.sink))
            .option("checkpointLocation", str(self.checkpoint))
            .partitionBy(*partition_by)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [progress.batchId for progress in query.recentProgress]

    def rows(self, spark: SparkSession) -> list[Any]:
        return spark.read.schema(SCHEMA).parquet(str(self.sink)).collect()

    def sink_log(self) -> SinkLog:
        return read_sink_log(self.sink)

    def read_checkpoint(self) -> Checkpoint:
        return read_checkpoint(self.checkpoint)
