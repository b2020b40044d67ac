"""Sources that keep the contract, and for each check of the kit one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SimpleDataSourceStreamReader,
)
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

Offset = dict[str, Any]


class Lines(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The lines of a file that grows, two to a partition; keeps the contract."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.target: int | None = None

    @property
    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()

    def initialOffset(self) -> Offset:
        return {"line": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self.target = len(self.lines)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        end = len(self.lines) if self.target is None else self.target
        if isinstance(limit, ReadMaxRows):
            end = min(end, start["line"] + limit.max_rows)
        return {"line": end}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        firsts = range(start["line"], end["line"], 2)
        return [InputPartition((first, min(first + 2, end["line"]))) for first in firsts]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        first, end = partition.value
        return iter([(n, self.lines[n]) for n in range(first, end)])

    def commit(self, end: Offset) -> None:
        pass


class SetOffsets(Lines):
    """Its offsets hold what JSON does not know."""

    def initialOffset(self) -> Offset:
        return {"line": 0, "seen": {1, 2}}


class Untyped(Lines):
    """Its numbers are texts."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return iter([(str(n), line) for n, line in super().read(partition)])


class Newest(Lines):
    """A range holds what is newest when it is read."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return iter([(len(self.lines), line) for _, line in super().read(partition)])


class Backwards(Lines):
    """Its ranges forget what they began with."""

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [InputPartition((max(0, end["line"] - 3), end["line"]))]


class Remembering(Lines):
    """A fresh reader cannot begin in the middle."""

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        first = 0 if start["line"] == 1 else start["line"]
        return super().partitions({"line": first}, end)


class Overlapping(Lines):
    """Its partitions share the line at their border."""

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        found = super().partitions(start, end)
        inner = [InputPartition((first, last + 1)) for first, last in (p.value for p in found[:-1])]
        return [*inner, *found[-1:]]


class Purging(Lines):
    """A commit takes away what was read."""

    def commit(self, end: Offset) -> None:
        rest = ["" for _ in self.lines[: end["line"]]] + self.lines[end["line"] :]
        self.path.write_text("".join(f"{line}\n" for line in rest))


class Endless(Lines):
    """A run takes in what arrived after its beginning, and never ends."""

    def prepareForTriggerAvailableNow(self) -> None:
        self.target = None

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        return {"line": min(start["line"] + 1, len(self.lines))}


class SimpleLines(SimpleDataSourceStreamReader):
    """The same as a simple reader; keeps the contract."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    @property
    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()

    def initialOffset(self) -> Offset:
        return {"line": 0}

    def read(self, start: Offset) -> tuple[Iterator[Any], Offset]:
        end = {"line": len(self.lines)}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[Any]:
        return iter([(n, self.lines[n]) for n in range(start["line"], end["line"])])

    def commit(self, end: Offset) -> None:
        pass


class Paged(SimpleLines):
    """Gives a page at a time, of which Spark takes one in a run."""

    def read(self, start: Offset) -> tuple[Iterator[Any], Offset]:
        end = {"line": min(start["line"] + 1, len(self.lines))}
        return self.readBetweenOffsets(start, end), end


class Generating(SimpleLines):
    """Hands out a generator, which Spark cannot copy."""

    def read(self, start: Offset) -> tuple[Iterator[Any], Offset]:
        rows, end = super().read(start)
        return (row for row in rows), end


class Forgetful(SimpleLines):
    """Its ranges lack what `read` gave."""

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[Any]:
        return iter([(n, self.lines[n]) for n in range(start["line"] + 1, end["line"])])

    def read(self, start: Offset) -> tuple[Iterator[Any], Offset]:
        rows = [(n, line) for n, line in enumerate(self.lines) if n >= start["line"]]
        return iter(rows), {"line": len(self.lines)}


def source_of(reader: type[Any]) -> type[DataSource]:
    """A data source with such a reader."""

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "lines"

        def streamReader(self, schema: StructType) -> Any:
            if issubclass(reader, SimpleDataSourceStreamReader):
                return super().streamReader(schema)
            return reader(self.options["path"])

        def simpleStreamReader(self, schema: StructType) -> Any:
            return reader(self.options["path"])

    return Source
