"""What is to be published and rejected: by the batches, and by what people had computed again.

Each partition holds what its last recomputation gave, and what batches beyond that one's prefix
added to it since.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tests.oracle.history_facts import Fed, Given, Input, Model, Refused, Reinstated, Swap
from tests.oracle.recorded import Row, Taken

Parts = dict[str | None, Counter[Any]]
Versions = Callable[[int], Model]
# Long before every row.
EVER = -1


class Bad(NamedTuple):
    """A rejected row."""

    file: str
    reason: str
    slot: str | None


@dataclass(frozen=True)
class Read:
    """What one batch read.

    Args:
        taken: The batch.
        good: Source -> its good rows.
        bad: The others.
    """

    taken: Taken
    good: Mapping[str, Sequence[Row]]
    bad: Sequence[Bad]


@dataclass(frozen=True)
class Expected:
    """What the batches up to P, and what was asked for since, make of it.

    Args:
        fed: The batches up to P, as they were computed when they came.
        rows: Partition -> the published rows.
        rejected: File and reason of each rejected row.
    """

    fed: Sequence[Fed]
    rows: Parts
    rejected: Counter[tuple[str, str]]


def expected(taken: Sequence[Taken], upto: int, model: Model, given: Given) -> Expected:
    """The promise, in plain Python.

    Args:
        taken: The committed batches.
        upto: P.
        model: The model of the pipeline.
        given: What it was given, and what was asked of it.
    """
    reads = read(taken, given, given.version(model), given.left_out)
    live = fed(reads, given.version(model), given, as_recorded(reads))
    rows = _parts(model, _upto(live, upto))
    bad = Counter(one for batch in reads[: upto + 1] for one in batch.bad)
    for one in given.asked:
        match one:
            case Swap():
                again = read(taken[: one.upto + 1], given, _always(one.model), one.without)
                marks = _marks(again, reads, model, one, given)
                found = _parts(model, fed(again, _always(one.model), given, marks))
                since = _less(
                    _parts(model, _upto(live, upto)), _parts(model, _upto(live, one.upto))
                )
                for slot in one.slots:
                    rows[slot] = found.get(slot, Counter()) + since.get(slot, Counter())
                bad = _swapped(bad, again, reads[one.upto + 1 : upto + 1], one.slots)
            case Reinstated():
                for (source, name), statics in one.inputs.items():
                    # Row by row: of which batch it was makes no difference.
                    own = [Taken(0, {source: (name,)}, 0, 0)]
                    again = read(own, given, _always(one.model), set())
                    added = fed(again, _always(one.model), given, [(EVER, 0)])
                    added = [replace(batch, statics=statics) for batch in added]
                    for part, more in _parts(model, added).items():
                        rows[part] = rows.get(part, Counter()) + more
                    bad.update(row for batch in again for row in batch.bad)
    return Expected(
        _upto(live, upto), rows, Counter((row.file, row.reason) for row in bad.elements())
    )


def read(
    taken: Sequence[Taken], given: Given, version: Versions, without: Set[Input]
) -> list[Read]:
    """What batches read, each by its version, less input that does not count."""
    return [_read(batch, given, version(batch.number), without) for batch in taken]


def fed(
    reads: Sequence[Read], version: Versions, given: Given, marks: Sequence[tuple[int, int]]
) -> list[Fed]:
    """What the code takes of that.

    Args:
        reads: The reads of batches, from the first on.
        version: The version of each batch.
        given: For the static inputs.
        marks: The marks of each batch up to when rows are late, and what is final.
    """
    return [
        Fed(
            one.taken.number,
            {
                source: [row for row in rows if version(one.taken.number).takes(source, row)]
                for source, rows in one.good.items()
            },
            late_ms,
            final_ms,
            given.statics.get(one.taken.number, {}),
        )
        for one, (late_ms, final_ms) in zip(reads, marks, strict=False)
    ]


def as_recorded(reads: Sequence[Read]) -> list[tuple[int, int]]:
    """When rows were late, and what was final, in the batches as they ran."""
    own = [one.taken.watermark_ms for one in reads]
    return [*zip([0, *own], own, strict=False)]


def times(reads: Sequence[Read], model: Model) -> list[dict[str, list[int]]]:
    """The event times of each batch's good rows, by source."""
    return [
        {name: [model.event_time_ms(name, row) for row in rows] for name, rows in one.good.items()}
        for one in reads
    ]


def _always(model: Model) -> Versions:
    return lambda _: model


def _marks(
    again: Sequence[Read], live: Sequence[Read], model: Model, swap: Swap, given: Given
) -> list[tuple[int, int]]:
    """Where a recomputation takes rows for late, and results for final."""
    recorded = as_recorded(again)
    if model.watermarks is None or model.slots is None:
        return recorded
    if model.slots.forgives and len({id(given.statics[one.taken.number]) for one in again}) == 1:
        # Where static inputs changed, batches are gone through one by one.
        return [(EVER, final) for _, final in recorded]
    same = all(given.models.get(one.taken.number, model) == swap.model for one in again)
    if same and not any(_only(one.taken, swap.without).inputs for one in again):
        return recorded
    # Gone through again with other rows, watermarks are what these make of them.
    batches = [one.taken for one in again]
    flushed = given.flushed
    after = model.watermarks.after(batches, times(again, model), given.starts, flushed)
    own = [
        max(before, flushed.get(batch.number, 0))
        for batch, before in zip(batches, [0, *after], strict=False)
    ]
    own[-1] = max(own[-1], batches[-1].watermark_ms)
    return [*zip([0, *own], own, strict=False)]


def _read(batch: Taken, given: Given, model: Model, without: Set[Input]) -> Read:
    good: dict[str, list[Row]] = {}
    bad = []
    for source, names in batch.inputs.items():
        for name in names:
            for line in () if (source, name) in without else given.arrived[source][name]:
                row = model.parse(source, line)
                if isinstance(row, Refused):
                    bad.append(Bad(name, row.reason, _slot(model, row.row)))
                elif row is not None:
                    good.setdefault(source, []).append(row)
    return Read(batch, good, bad)


def _slot(model: Model, row: Row | None) -> str | None:
    return None if row is None or model.slots is None else model.slots.of_row(row)


def _only(batch: Taken, inputs: Set[Input]) -> Taken:
    """A batch as if it had read nothing else."""
    return replace(
        batch,
        inputs={
            source: tuple(name for name in names if (source, name) in inputs)
            for source, names in batch.inputs.items()
            if any((source, name) in inputs for name in names)
        },
    )


def _upto(live: Sequence[Fed], upto: int) -> list[Fed]:
    return [batch for batch in live if batch.number <= upto]


def _parts(model: Model, batches: Sequence[Fed]) -> Parts:
    """The published rows by partition."""
    if model.slots is None:
        return {None: model.published(batches)}
    if model.slots.time:
        return {slot: model.published(part) for slot, part in _by_rows(model, batches)}
    found: Parts = defaultdict(Counter)
    for row, count in model.published(batches).items():
        found[model.slots.of_result(row)][row] = count
    return found


def _by_rows(model: Model, batches: Sequence[Fed]) -> Iterator[tuple[str | None, list[Fed]]]:
    every = {_slot(model, r) for batch in batches for rows in batch.rows.values() for r in rows}
    for slot in every:
        yield (
            slot,
            [
                replace(
                    batch,
                    rows={
                        source: [row for row in rows if _slot(model, row) == slot]
                        for source, rows in batch.rows.items()
                    },
                )
                for batch in batches
            ],
        )


def _less(parts: Parts, others: Parts) -> Parts:
    return {slot: rows - others.get(slot, Counter()) for slot, rows in parts.items()}


def _swapped(
    bad: Counter[Bad], again: Sequence[Read], since: Sequence[Read], slots: Set[str]
) -> Counter[Bad]:
    """Rejected rows of partitions are those of their recomputation, and what came since."""
    stay = Counter({row: count for row, count in bad.items() if row.slot not in slots})
    new = (row for batch in (*again, *since) for row in batch.bad if row.slot in slots)
    return stay + Counter(new)
