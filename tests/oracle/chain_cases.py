"""The chains that are played: a shipped pipeline, and two that read on from its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.oracle.expected import Parts
from tests.oracle.shipped import Shipped

# Hour, name and value of a row; windows have a count for the value.
Rows = Counter[tuple[str, str, str]]
HOUR, DELAY = "yyyy-MM-dd HH", timedelta(days=1)


@dataclass(frozen=True)
class Reader:
    """How a pipeline of a chain reads on, in Spark and in plain Python.

    Args:
        code: Its transform, of `rows` with the columns `name`, `value` and `at`.
        model: The rows that it makes of those of the table before it.
        watermark: Whether it keeps state.
        time: The column whose hours are its partitions.
    """

    code: str
    model: Callable[[Rows], Rows]
    watermark: bool = False
    time: str = "at"


def counted(rows: Rows) -> Rows:
    """Each name's rows in each hour that the watermark has closed."""
    if not rows:
        return Counter()
    reached = max(datetime.fromisoformat(hour) for hour, _, _ in rows) - DELAY
    found: Counter[tuple[str, str]] = Counter()
    for (hour, name, _), number in rows.items():
        if datetime.fromisoformat(hour) + timedelta(hours=1) <= reached:
            found[hour, name] += number
    return Counter({(hour, name, str(number)): 1 for (hour, name), number in found.items()})


MAP = Reader(
    'return rows.withColumn("name", F.concat("name", F.lit("!")))',
    lambda rows: Counter({(hour, f"{name}!", value): n for (hour, name, value), n in rows.items()}),
)
ONCE = Reader(
    'hours = rows.selectExpr("*", "date_trunc(\'HOUR\', at) AS hour")\n'
    '    once = hours.dropDuplicatesWithinWatermark(["name", "value", "hour"])\n'
    '    return once.drop("hour")',
    lambda rows: Counter(dict.fromkeys(rows, 1)),
    watermark=True,
)
COUNTED = Reader(
    'counts = rows.groupBy(F.window("at", "1 hour").alias("window"), "name").count()\n'
    '    return counts.selectExpr("window", "name", "CAST(count AS STRING) AS value")',
    counted,
    watermark=True,
    time="window.start",
)


@dataclass(frozen=True)
class Chain:
    """A chain.

    Args:
        first: The case of its first pipeline.
        columns: The columns of its table that the second reads, as Spark DDL.
        named: `name`, `value` and `at` of them, in SQL.
        of_first: The same of a row of the first model: name and value.
        readers: How the second and the third read on.
    """

    first: str
    columns: str
    named: tuple[str, str, str]
    of_first: Callable[[tuple[Any, ...]], tuple[str, str]]
    readers: tuple[Reader, Reader]

    def expected(self, first: Parts) -> tuple[Rows, Rows]:
        """The rows of the second and the third table, by those of the first."""
        rows: Rows = Counter()
        for hour, some in first.items():
            for row, number in some.items():
                rows[str(hour), *self.of_first(row)] += number
        second = self.readers[0].model(rows)
        return second, self.readers[1].model(second)


SIGNALS = (
    "device_signals",
    "device string, signal decimal(6,2), at timestamp",
    ("device", "CAST(signal AS STRING)", "at"),
    lambda row: (row[0], f"{row[1]:.2f}"),
)
EVENTS = ("unique_events", "id string, at timestamp", ("id", "''", "at"), lambda row: (row[0], ""))
WORDS = (
    "windowed_words",
    "window_start timestamp, word string, count long",
    ("word", "CAST(count AS STRING)", "window_start"),
    lambda row: (row[2], str(row[3])),
)
CHAINS = {
    "signals counted": Chain(*SIGNALS, (MAP, COUNTED)),
    "signals once": Chain(*SIGNALS, (ONCE, MAP)),
    "events counted": Chain(*EVENTS, (MAP, COUNTED)),
    "words mapped": Chain(*WORDS, (MAP, MAP)),
    "words counted once": Chain(*WORDS, (ONCE, COUNTED)),
}


@dataclass
class ReaderPipeline(Shipped):
    """A pipeline of a chain that reads the one before it.

    Args:
        upstream: The pipeline that it reads.
        reader: How it reads on.
        columns: The columns that it reads, as Spark DDL.
        named: `name`, `value` and `at` of them, in SQL.
    """

    upstream: str = field(kw_only=True)
    reader: Reader = field(kw_only=True)
    columns: str = field(kw_only=True)
    named: tuple[str, str, str] = field(kw_only=True)

    def __post_init__(self) -> None:
        name, value, at = self.named
        # Windows have partitions of the result, other readers those of the rows that they read.
        time, kept = (at, ', "day"') if self.reader.time == "at" else (self.reader.time, "")
        path = self.project.transform(self.name)
        columns = f'"{name} AS name", "{value} AS value", "{at} AS at"{kept}'
        path.write_text(
            "from pyspark.sql import functions as F\n\n\ndef transform(rows):\n"
            f"    rows = rows.selectExpr({columns})\n"
            f"    {self.reader.code}\n"
        )
        source = {"kind": "table", "pipeline": self.upstream, "schema": self.columns}
        source |= {"swapped": "follow", "maxFilesPerTrigger": 2}
        watermark = {"watermark": "1 day"} if self.reader.watermark else {}
        self.spec = {
            "env": {},
            "sources": {"rows": source},
            "event_time": {"column": at, **watermark},
            "output": {"partition_by": {"day": f"date_format({time}, '{HOUR}')"}},
        }
        self.write()

    @property
    def rows(self) -> Rows:
        """What it has published."""
        found = self.published("day", "name", "value")
        return Counter(found)
