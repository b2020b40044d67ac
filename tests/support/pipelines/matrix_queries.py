"""Streaming frames for the matrix: what its queries are made of, and whether Spark runs them."""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
import yaml
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery, StreamingQueryListener

from tests.support.pipelines.matrix_models import FEED, clock
from tidemill.contract.errors import SpecError
from tidemill.engine.query.pipeline_class import keeps_state
from tidemill.engine.query.refusals import refuse_unrepeatable, refuse_unsupported
from tidemill.engine.spark_internals.plan import analysed, kind, nodes
from tidemill.spec.output import OutputMode

MATRIX = yaml.safe_load((Path(__file__).parents[2] / "matrix.yaml").read_text())
COLUMNS = "id string, at timestamp, n int"
# For so few rows, compiling code and sharing the rows out would be most of the work.
QUICKLY = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
TRANSFORM = Path("transform.py")


def rows_of(*sections: str, says: str | None = None) -> Any:
    """Parametrises a test with the rows of some sections of the matrix."""
    rows = [row for name in sections for row in MATRIX[name] if says in (None, row["says"])]
    return pytest.mark.parametrize("row", rows, ids=lambda row: "-".join(map(str, [*row.values()])))


@dataclass(frozen=True)
class Played:
    """What the queries of some rows of the matrix gave out, run as branches of one.

    Args:
        rows: By label of the row of the matrix; times as `12:00`, windows as `12:00-13:00`.
        state: The rows in state after each batch, summed over a branch's operators.
    """

    rows: dict[str, list[dict[str, Any]]]
    state: dict[str, list[int]]


# The labels of all rows of the matrix whose query has run.
STARTED: set[str] = set()


def label(row: dict[str, Any]) -> str:
    return json.dumps(row)


class Starts(StreamingQueryListener):
    """Notes that a query has started for a row of the matrix."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.label = label(row)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        STARTED.add(self.label)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        pass


def all_run(test: Any) -> list[dict[str, Any]]:
    """The rows that a test is for, where all of them say `run`."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.args[:1] == ("row",)]
    rows = [row for mark in marks for row in mark.args[1]]
    return rows if all(row["says"] == "run" for row in rows) else []


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
        rows = self._source
        return rows.withWatermark(watermark, "10 minutes") if watermark else rows

    @cached_property
    def _source(self) -> DataFrame:
        # One for all branches of a query, which then reads each file once.
        folder = self.home / "rows"
        folder.mkdir(exist_ok=True)
        reader = self.session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        return reader.json(str(folder))

    def static(self) -> DataFrame:
        """A table with the same columns."""
        columns = ("IF(id = 0, 'a', 'e') AS id", "timestamp '2026-03-01' AS at", "1 AS n")
        return self.session.range(2).selectExpr(*columns)

    def deliver_feed(self) -> None:
        """The feed of the models, a file after the other."""
        (self.home / "rows").mkdir(exist_ok=True)
        for number, events in enumerate(FEED):
            lines = [
                json.dumps({"id": one.id, "at": f"2026-03-01T{clock(one.at)}:00Z", "n": one.n})
                for one in events
            ]
            path = self.home / "rows" / f"{number}.json"
            path.write_text("\n".join(lines) + "\n")
            # Spark reads the oldest file first, and counts in milliseconds.
            os.utime(path, (1_772_000_000 + number, 1_772_000_000 + number))

    def play(
        self, branches: Mapping[str, DataFrame], mode: str, conf: Mapping[str, str] | None = None
    ) -> Played:
        """Run the queries of rows of the matrix as branches of one, to the end of the feed.

        Args:
            branches: Label of a row -> its query.
            mode: The output mode.
            conf: Settings of Spark for this query.
        """
        name = f"played_{uuid.uuid4().hex}"
        parts = []
        for branch, rows in branches.items():
            fields = [rows[column].alias(column) for column in rows.columns]
            parts.append(rows.select(F.lit(branch).alias("branch"), F.to_json(F.struct(*fields))))
        writer = reduce(DataFrame.unionAll, parts).toDF("branch", "row").writeStream
        writer = writer.format("memory").queryName(name).outputMode(mode).trigger(availableNow=True)
        with self._settings({**QUICKLY, **(conf or {})}):
            query = writer.option("checkpointLocation", mkdtemp(dir=self.home)).start()
            query.awaitTermination()
        assert sum(progress.numInputRows for progress in query.recentProgress)
        STARTED.update(branches)

        shown: dict[str, list[dict[str, Any]]] = {branch: [] for branch in branches}
        for row in self.session.table(name).collect():
            shown[row["branch"]].append(_plain(json.loads(row["row"])))
        self.session.catalog.dropTempView(name)
        return Played(shown, self._states(branches, query, mode))

    @contextmanager
    def _settings(self, conf: Mapping[str, str]) -> Iterator[None]:
        before = {name: self.session.conf.get(name, None) for name in conf}
        for name, value in conf.items():
            self.session.conf.set(name, value)
        yield
        for name, old in before.items():
            self.session.conf.unset(name) if old is None else self.session.conf.set(name, old)

    @staticmethod
    def _states(
        branches: Mapping[str, DataFrame], query: StreamingQuery, mode: str
    ) -> dict[str, list[int]]:
        # Spark lists the operators in the order of the branches.
        states: dict[str, list[int]] = {}
        position = 0
        for branch, rows in branches.items():
            stateful = [kind(node) for node in nodes(analysed(rows)) if keeps_state(node)]
            # A complete result is cut to its limit whenever it is given out.
            end = position + len(stateful) - (mode == "complete") * stateful.count("GlobalLimit")
            states[branch] = [
                sum(one.numRowsTotal for one in progress.stateOperators[position:end])
                for progress in query.recentProgress
            ]
            position = end
        assert all(len(one.stateOperators) == position for one in query.recentProgress)
        return states

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


def _plain(value: Any) -> Any:
    """A row's value with times as the models write them."""
    if isinstance(value, dict) and value.keys() == {"start", "end"}:
        return f"{_plain(value['start'])}-{_plain(value['end'])}"
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value[11:16] if isinstance(value, str) and value.startswith("2026-03-01T") else value


def as_multiset(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


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
