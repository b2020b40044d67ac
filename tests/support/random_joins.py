"""Joins of two streams by random conditions over their times, and random input for them."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEP = timedelta(minutes=30)
BATCHES = 5
LATENESS = "10 minutes"
# Rows of an end that match nothing: they move the watermark beyond all others.
END = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class RandomJoin:
    """A join of orders with clicks.

    Attributes:
        watermarks: Whether the event time of the left and of the right side has one.
        left: The columns of the left side in their order; `at` is its event time, `due` is not.
        right: The same of the right side, with `then` and `of`.
    """

    condition: str
    how: str = "inner"
    watermarks: tuple[bool, bool] = (True, True)
    left: tuple[str, ...] = ("k", "at", "due")
    right: tuple[str, ...] = ("k2", "of", "then")

    def frame(self, session: SparkSession, folder: Path, *, stream: bool) -> DataFrame:
        """The joined rows, as text."""
        sides = []
        for name, columns, event_time, marked in (
            ("left", self.left, "at", self.watermarks[0]),
            ("right", self.right, "then", self.watermarks[1]),
        ):
            schema = ", ".join(f"{one} {'int' if 'k' in one else 'timestamp'}" for one in columns)
            reader = session.readStream.option("maxFilesPerTrigger", 1) if stream else session.read
            rows = reader.schema(schema).json(str(folder / name))
            sides.append(rows.withWatermark(event_time, LATENESS) if stream and marked else rows)
        joined = sides[0].join(sides[1], F.expr(f"k = k2 AND {self.condition}"), self.how)
        return joined.select(F.to_json(F.struct("*")).alias("row"))

    def in_batches(
        self, session: SparkSession, folder: Path, checkpoint: Path
    ) -> Counter[str] | None:
        """What a streaming query gives out that takes a file of each side in a batch; None where
        Spark does not run it.
        """
        name = f"joined_{abs(hash((self, str(checkpoint))))}"
        writer = self.frame(session, folder, stream=True).writeStream.format("memory")
        writer = writer.queryName(name).option("checkpointLocation", str(checkpoint))
        try:
            query = writer.trigger(availableNow=True).start()
        except AnalysisException:
            return None
        query.awaitTermination()
        found = _before_the_end(session.table(name))
        session.catalog.dropTempView(name)
        return found

    def at_once(self, session: SparkSession, folder: Path) -> Counter[str]:
        """What one batch over all files gives out."""
        return _before_the_end(self.frame(session, folder, stream=False))


def _before_the_end(rows: DataFrame) -> Counter[str]:
    found = Counter(row.row for row in rows.collect())
    return Counter({row: n for row, n in found.items() if str(END.year) not in row})


def random_join(chance: random.Random) -> RandomJoin:
    """A join by one to three conditions; most times are those with a watermark."""
    conditions = [_condition(chance) for _ in range(chance.choice((1, 1, 1, 2, 2, 3)))]
    left, right = ["k", "at", "due"], ["k2", "of", "then"]
    chance.shuffle(left)
    chance.shuffle(right)
    return RandomJoin(
        " AND ".join(conditions),
        chance.choices(("inner", "left_semi", "left", "right", "full"), (6, 2, 2, 1, 1))[0],
        chance.choices(((True, True), (True, False), (False, True)), (8, 1, 1))[0],
        tuple(left),
        tuple(right),
    )


def _condition(chance: random.Random) -> str:
    left = chance.choices(("at", "due"), (3, 1))[0]
    right = chance.choices(("then", "of"), (3, 1))[0]
    if chance.random() < 0.5:
        left, right = right, left
    first, second = sorted(10 * chance.randint(-9, 9) for _ in range(2))
    compare = chance.choice(("<", "<=", ">", ">="))
    return chance.choice(
        (
            f"{left} BETWEEN {right} + {_minutes(first)} AND {right} + {_minutes(second)}",
            f"{left} BETWEEN {right} AND {right} + {_minutes(abs(first) + 10)}",
            f"{left} - {_minutes(first)} {compare} {right}",
            f"{left} {compare} {right} + {_minutes(first)} - {_minutes(second)}",
            f"{left} {compare} {right} + {_minutes(first)} + {_minutes(first)}",
            f"{left} - {right} {compare} {_minutes(first)}",
            f"CAST({left} AS LONG) - CAST({right} AS LONG) {compare} {60 * first}",
            f"NOT ({left} {compare} {right} + {_minutes(second)})",
            f"({left} {compare} {right} OR k > 1)",
            f"timestampdiff(MINUTE, {left}, {right}) {compare} {second}",
            f"date_trunc('HOUR', {left}) = date_trunc('HOUR', {right})",
            f"CAST({left} AS DATE) {compare} CAST({right} AS DATE)",
            f"{left} = {right}",
            f"{left} = {right}",
        )
    )


def _minutes(number: int) -> str:
    return f"INTERVAL '{number}' MINUTE"


def write_input(folder: Path, chance: random.Random, rows: int = 12) -> None:
    """A file of each side for each batch; no row comes later than the watermark."""
    for batch in range(BATCHES + 2):
        for side, key, event_time, other in (
            ("left", "k", "at", "due"),
            ("right", "k2", "then", "of"),
        ):
            lines = []
            for _ in range(rows if batch < BATCHES else 1):
                at = START + batch * STEP + timedelta(minutes=10 * chance.randint(1, 3))
                about = at + timedelta(minutes=10 * chance.randint(-18, 18))
                number = chance.randint(0, 2)
                if batch >= BATCHES:
                    at = about = END + (batch - BATCHES) * timedelta(days=2)
                    number = -1 if side == "left" else -2
                lines.append({key: number, event_time: _written(at), other: _written(about)})
            path = folder / side / f"{batch}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(map(json.dumps, lines)) + "\n")
            os.utime(path, (1_700_000_000 + batch,) * 2)


def _written(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"
