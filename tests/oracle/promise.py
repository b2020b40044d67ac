"""The promise of a pipeline: what consumers read, from its inputs and recorded batches alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from deltalake import DeltaTable

from tests.oracle.recorded import Row, Taken, batches, flushed, last_published
from tests.oracle.watermark import Watermarks


@dataclass(frozen=True)
class Fed:
    """A batch with its good rows.

    Args:
        number: Its id.
        rows: Source -> the rows that were read and not rejected.
        late_ms: Rows of up to this event time are late: the watermark of the batch before.
        watermark_ms: What is final in this batch: its own watermark.
    """

    number: int
    rows: Mapping[str, Sequence[Row]]
    late_ms: int
    watermark_ms: int


class Model(Protocol):
    """A pipeline in plain Python."""

    watermarks: Watermarks | None
    columns: Sequence[str]

    def parse(self, source: str, line: str) -> Row | str:
        """A line of input as a row, or the reason why it is rejected."""

    def event_time_ms(self, source: str, row: Row) -> int:
        """When a row happened."""

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        """What is published once these batches are, as a multiset of tuples by `columns`."""


@dataclass(frozen=True)
class Found:
    """What a check met, so that a test can say that it met everything.

    Args:
        published: P.
        rows: Published ones.
        rejected: Rows.
        late: Whether a row came at or before the watermark that makes it late.
    """

    published: int
    rows: int
    rejected: int
    late: bool


def check(home: Path, model: Model, starts: Set[int]) -> Found:
    """Hold what is published against the model.

    Args:
        home: The pipeline's, under the root.
        model: Of the pipeline.
        starts: The batches with which a start of its query began.

    Raises:
        AssertionError: rows, rejected rows or watermarks differ.
    """
    upto = last_published(home)
    taken = batches(home)
    parsed = [_parsed(model, batch) for batch in taken]
    if model.watermarks is not None:
        times = [
            {name: [model.event_time_ms(name, row) for row in rows] for name, rows in good.items()}
            for good, _ in parsed
        ]
        expected = model.watermarks.after(taken, times, starts, flushed(home))
        assert [batch.next_watermark_ms for batch in taken] == expected
        before = [batch.watermark_ms for batch in taken]
        flush = flushed(home)
        planned = [
            max(mark, flush.get(batch.number, 0))
            for mark, batch in zip([0, *expected], taken, strict=False)
        ]
        assert before == planned
    fed = [
        Fed(batch.number, good, late, batch.watermark_ms)
        for batch, (good, _), late in zip(
            taken, parsed, [0, *(batch.watermark_ms for batch in taken)], strict=False
        )
        if batch.number <= upto
    ]
    refused = Counter(one for _, bad in parsed[: upto + 1] for one in bad)
    assert _rejected(home) == refused
    rows = _rows(home, model.columns)
    assert rows == model.published(fed)
    return Found(upto, rows.total(), refused.total(), _any_late(model, fed))


def _parsed(model: Model, batch: Taken) -> tuple[dict[str, list[Row]], list[tuple[str, str]]]:
    good: dict[str, list[Row]] = {}
    bad = []
    for source, lines in batch.lines.items():
        for line in lines:
            row = model.parse(source, line)
            if isinstance(row, str):
                bad.append((source, row))
            else:
                good.setdefault(source, []).append(row)
    return good, bad


def _any_late(model: Model, fed: Sequence[Fed]) -> bool:
    return any(
        model.event_time_ms(source, row) <= batch.late_ms
        for batch in fed
        for source, rows in batch.rows.items()
        for row in rows
    )


def _rows(home: Path, columns: Sequence[str]) -> Counter[Any]:
    if not DeltaTable.is_deltatable(str(home / "table")):
        return Counter()
    table = DeltaTable(home / "table").to_pyarrow_table(columns=list(columns))
    return Counter(tuple(_plain(value) for value in row.values()) for row in table.to_pylist())


def _rejected(home: Path) -> Counter[Any]:
    """Source and reason of each rejected row; the source is the folder that its file lies in."""
    if not DeltaTable.is_deltatable(str(home / "rejected")):
        return Counter()
    table = DeltaTable(home / "rejected").to_pyarrow_table(columns=["file", "reason"])
    return Counter((Path(row["file"]).parent.name, row["reason"]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_plain(one) for one in value.values())
    return tuple(value) if isinstance(value, list) else value
