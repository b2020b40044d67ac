"""The promise of a pipeline: what consumers read, from its inputs and recorded batches alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from tests.oracle.expected import Expected, as_recorded, expected, fed, read, times
from tests.oracle.history_facts import Fed, Given, Model
from tests.oracle.recorded import Taken, batches, flushed, last_published, late
from tests.oracle.watermark import Watermarks


class Broken(AssertionError):
    """The promise is broken.

    Attributes:
        what: `inputs`, `watermarks`, `late`, `rows`, `rejected` or `answers` to what was asked for.
        missing: What should have been there and was not, each with how often.
        extra: What was there and should not have been.
    """

    def __init__(self, what: str, found: Counter[Any], expected: Counter[Any]) -> None:
        self.what = what
        self.missing = expected - found
        self.extra = found - expected
        super().__init__(f"{what}: missing {dict(self.missing)}, extra {dict(self.extra)}")


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
        model: The model of the pipeline.
        given: What it was given.

    Raises:
        Broken: it does not.
    """
    upto = last_published(home, given.generation)
    taken = batches(home, given.generation)
    given.flushed = flushed(home, given.generation)
    _check_inputs(taken, given)

    version = given.version(model)
    reads = read(taken, given, version, given.left_out)
    if model.watermarks is not None:
        at = [
            {} if batch.number in given.passed_over else found
            for batch, found in zip(taken, times(reads, model), strict=True)
        ]
        _check_watermarks(model.watermarks, taken, at, given.starts, given.flushed)
        counted = late(home, given.generation)
        # What a driver that was killed had no time for, the next one counts.
        every = fed(reads, version, given, as_recorded(reads))
        known = [batch for batch in every if given.whole or batch.number in counted]
        numbers = {batch.number for batch in every}
        _same(
            "late",
            Counter(one for one in counted.items() if one[0] in numbers),
            Counter((batch.number, model.late(batch)) for batch in known),
        )
    wanted = expected(taken, upto, model, given)
    rows = _rows(home, model)
    _same("rows", rows, _in_partitions(wanted, model))
    if not given.torn:
        _same("rejected", _rejected(home), wanted.rejected)
    committed = taken[-1].number if taken else -1
    return Found(
        committed, upto, rows.total(), wanted.rejected.total(), _any_late(model, wanted.fed)
    )


def _in_partitions(wanted: Expected, model: Model) -> Counter[Any]:
    """As the table holds them: each with its partition, where these are compared."""
    if model.slots is None:
        return sum(wanted.rows.values(), Counter())
    return Counter(
        {(slot, *row): n for slot, rows in wanted.rows.items() for row, n in rows.items()}
    )


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
    wanted = arrived if given.whole else arrived & read
    # A generation that came later need not have read what does not count.
    _same("inputs", read, wanted - (Counter(given.left_out) - read))


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


def _any_late(model: Model, fed: Sequence[Fed]) -> bool:
    return model.watermarks is not None and any(
        model.event_time_ms(source, row) <= batch.late_ms
        for batch in fed
        for source, rows in batch.rows.items()
        for row in rows
    )


def _rows(home: Path, model: Model) -> Counter[Any]:
    if not DeltaTable.is_deltatable(str(home / "table")):
        return Counter()
    columns = [*(() if model.slots is None else (model.slots.column,)), *model.columns]
    table = DeltaTable(home / "table").to_pyarrow_table(columns=columns)
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
