"""Streaming frames for the matrix: what its queries are made of, and whether Spark runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
import yaml
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from tidemill.contract.errors import SpecError
from tidemill.engine.query.refusals import refuse_unrepeatable, refuse_unsupported
from tidemill.spec.output import OutputMode

MATRIX = yaml.safe_load((Path(__file__).parents[2] / "matrix.yaml").read_text())
COLUMNS = "id string, at timestamp, n int"
TRANSFORM = Path("transform.py")


def rows_of(section: str, says: str | None = None) -> Any:
    """Parametrises a test with the rows of a section of the matrix."""
    rows = [row for row in MATRIX[section] if says in (None, row["says"])]
    return pytest.mark.parametrize("row", rows, ids=lambda row: "-".join(map(str, [*row.values()])))


@dataclass(frozen=True)
class Streams:
    """Streams of the files of one folder.

    Args:
        session: Theirs.
        home: Holds `rows/` and checkpoints.
    """

    session: SparkSession
    home: Path

    def rows(self, watermark: str | None = "at") -> DataFrame:
        """A stream, with a watermark of ten minutes unless that is None."""
        folder = self.home / "rows"
        folder.mkdir(exist_ok=True)
        reader = self.session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        rows = reader.json(str(folder))
        return rows.withWatermark(watermark, "10 minutes") if watermark else rows

    def static(self) -> DataFrame:
        """A table with the same columns."""
        columns = ("'a' AS id", "timestamp '2026-03-01' AS at", "1 AS n")
        return self.session.range(1).selectExpr(*columns)

    def arrive(self, name: str, times: Sequence[str]) -> None:
        """A file with a row of each time of a day."""
        lines = [f'{{"id": "a", "at": "2026-03-01T{time}:00Z", "n": 1}}\n' for time in times]
        (self.home / "rows").mkdir(exist_ok=True)
        (self.home / "rows" / name).write_text("".join(lines))

    def start(self, rows: DataFrame, mode: str) -> StreamingQuery:
        """Start a query on Spark alone, over what is there.

        Raises:
            AnalysisException: Spark does not run it.
        """
        writer = rows.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
        return writer.option("checkpointLocation", mkdtemp(dir=self.home)).start()


def refused(rows: DataFrame, mode: str) -> SpecError | None:
    """What we say of a transform's rows before a query starts."""
    try:
        refuse_unrepeatable(rows, TRANSFORM, OutputMode(mode))
        refuse_unsupported(rows, TRANSFORM, OutputMode(mode))
    except SpecError as error:
        return error
    return None


def assert_as_told(row: dict[str, Any], rows: DataFrame, streams: Streams) -> None:
    """What runs is let through, and what does not is refused by us, and by Spark where it says so.

    Args:
        row: The row of the matrix.
        rows: What it speaks of.
        streams: Their makers.
    """
    mode = row.get("mode", "append")
    error = refused(rows, mode)
    if row["says"] == "run":
        assert error is None, str(error)
        return
    assert error is not None
    assert error.field in ("output.mode", "transform")
    if row["by"] == "spark":
        # Some of it only by the plan of a batch, for which there has to be a row.
        streams.arrive("one.json", ["12:00"])
        with pytest.raises((AnalysisException, StreamingQueryException)):
            streams.start(rows, mode).awaitTermination()
    else:
        streams.start(rows, mode).awaitTermination()
