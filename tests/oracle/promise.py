"""The promise of a pipeline: what consumers read, from its inputs and recorded batches alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from deltalake import DeltaTable

from tests.oracle.recorded import Row, Taken, batches, flushed, last_published, late
from tests.oracle.watermark import Watermarks

Statics = Mapping[str, tuple[str, ...]]


class Broken(AssertionError):
    """The promise is broken.

    Attributes:
        what: `inputs`, `watermarks`, `late`, `rows` or `rejected`.
        missing: What should have been there and was not, each with how often.
        extra: What was there and should not have been.
    """

    def __init__(self, what: str, found: Counter[Any], expected: Counter[Any]) -> None:
        self.what = what
        self.missing = expected - found
        self.extra = found - expected
        super().__init__(f"{what}: missing {dict(self.missing)}, extra {dict(self.extra)}")


@dataclass(frozen=True)
class Fed:
    """A batch with its good rows.

    Args:
        number: Its id.
        rows: Source -> the rows that were read and not rejected.
        late_ms: Rows of up to this event time are late: the watermark of the batch before.
        watermark_ms: What is final in this batch: its own watermark.
        statics: File -> its lines, as they were when the batch was planned.
    """

    number: int
    rows: Mapping[str, Sequence[Row]]
    late_ms: int
    watermark_ms: int
    statics: Statics


class Model(Protocol):
    """A pipeline in plain Python."""

    @property
    def watermarks(self) -> Watermarks | None:
        """How its watermarks go; None without one."""

    @property
    def columns(self) -> Sequence[str]:
        """Of the published table, those that are compared."""

    def parse(self, source: str, line: str) -> Row | str | None:
        """A line of input as a row, or the reason why it is rejected; None for one that is none."""

    def event_time_ms(self, source: str, row: Row) -> int:
        """When a row happened."""

    def late(self, batch: Fed) -> int:
        """How many rows of a batch its operators pass over, each as often as they meet it."""

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        """What is published once these batches are, as a multiset of tuples by `columns`."""


@dataclass
class Given:
    """What a history gave a pipeline so far, as whoever gave it remembers.

    Args:
        arrived: Source -> file, or place of a record -> its lines.
        starts: The batches with which a start of its query began.
        passed_over: The batches that the sink held already when a start ran them again: Spark
            computes nothing of them then, and sees no event time.
        statics: Batch -> the static inputs as they were when it was planned.
        whole: Whether all that arrived must have been read.
        torn: Whether a publish may have been cut short: rejected rows come before the others.
    """

    arrived: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    starts: set[int] = field(default_factory=set)
    passed_over: set[int] = field(default_factory=set)
    statics: dict[int, Statics] = field(default_factory=dict)
    whole: bool = False
    torn: bool = False


@dataclass(frozen=True)
class Found:
    """What a check met, so that a test can say that it met everything.

    Args:
        committed: The last committed batch.
        published: P.
        rows: Published ones.
        rejected: Rows.
        late: Whether a row came at or before the watermark that makes it late.
    """

    committed: int
    published: int
    rows: int
    rejected: int
    late: bool


def check(home: Path, model: Model, given: Given) -> Found:
    """Hold what is published against the model.

    Args:
        home: The pipeline's, under the root.
        model: Of the pipeline.
        given: What it was given.

    Raises:
        Broken: it does not.
    """
    upto = last_published(home)
    taken = batches(home)
    _check_inputs(taken, given)
    parsed = [_parsed(model, batch, given) for batch in taken]
    if model.watermarks is not None:
        times = [
            {}
            if batch.number in given.passed_over
            else {
                name: [model.event_time_ms(name, row) for row in rows]
                for name, rows in good.items()
            }
            for batch, (good, _) in zip(taken, parsed, strict=True)
        ]
        _check_watermarks(model.watermarks, taken, times, given.starts, flushed(home))
    every = [
        Fed(batch.number, good, late_ms, batch.watermark_ms, given.statics.get(batch.number, {}))
        for batch, (good, _), late_ms in zip(
            taken, parsed, [0, *(batch.watermark_ms for batch in taken)], strict=False
        )
    ]
    counted = late(home)
    if model.watermarks is not None:
        # What a driver that was killed had no time for, the next one counts.
        known = [batch for batch in every if given.whole or batch.number in counted]
        expected = Counter((batch.number, model.late(batch)) for batch in known)
        numbers = {batch.number for batch in every}
        _same("late", Counter(one for one in counted.items() if one[0] in numbers), expected)
    fed = [batch for batch in every if batch.number <= upto]
    refused = Counter(one for _, bad in parsed[: upto + 1] for one in bad)
    rows = _rows(home, model.columns)
    _same("rows", rows, model.published(fed))
    if not given.torn:
        _same("rejected", _rejected(home), refused)
    committed = taken[-1].number if taken else -1
    return Found(committed, upto, rows.total(), refused.total(), _any_late(model, fed))


def _check_inputs(taken: Sequence[Taken], given: Given) -> None:
    """Every batch follows the one before, and nothing is read twice or, in the end, not at all."""
    _same("inputs", Counter(batch.number for batch in taken), Counter(range(len(taken))))
    read = Counter(
        (source, name)
        for batch in taken
        for source, names in batch.inputs.items()
        for name in names
    )
    arrived = Counter((source, name) for source, names in given.arrived.items() for name in names)
    _same("inputs", read, arrived if given.whole else arrived & read)


def _check_watermarks(
    watermarks: Watermarks,
    taken: Sequence[Taken],
    times: Sequence[Mapping[str, Sequence[int]]],
    starts: Set[int],
    flushes: Mapping[int, int],
) -> None:
    expected = watermarks.after(taken, times, starts, flushes)
    found = [(batch.number, batch.watermark_ms, batch.next_watermark_ms) for batch in taken]
    planned = [
        (batch.number, max(before, flushes.get(batch.number, 0)), after)
        for batch, before, after in zip(taken, [0, *expected], expected, strict=False)
    ]
    _same("watermarks", Counter(found), Counter(planned))


def _same(what: str, found: Counter[Any], expected: Counter[Any]) -> None:
    if found != expected:
        raise Broken(what, found, expected)


def _parsed(
    model: Model, batch: Taken, given: Given
) -> tuple[dict[str, list[Row]], list[tuple[str, str]]]:
    """The good rows by source, and file and reason of each rejected one."""
    good: dict[str, list[Row]] = {}
    bad = []
    for source, names in batch.inputs.items():
        for name in names:
            for line in given.arrived[source][name]:
                row = model.parse(source, line)
                if isinstance(row, str):
                    bad.append((name, row))
                elif row is not None:
                    good.setdefault(source, []).append(row)
    return good, bad


def _any_late(model: Model, fed: Sequence[Fed]) -> bool:
    return model.watermarks is not None and any(
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
    """File and reason of each rejected row."""
    if not DeltaTable.is_deltatable(str(home / "rejected")):
        return Counter()
    table = DeltaTable(home / "rejected").to_pyarrow_table(columns=["file", "reason"])
    return Counter((_name(row["file"]), row["reason"]) for row in table.to_pylist())


def _name(file: str) -> str:
    """As the history knows it: the file's name, or partition and offset of a record."""
    if file.startswith("kafka:"):
        return "/".join(file.split("/")[-2:])
    return Path(file).name


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_plain(one) for one in value.values())
    return tuple(value) if isinstance(value, list) else value
