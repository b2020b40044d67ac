"""Which partitions are due since an upstream table swapped rows that were read.

Nothing is kept for it. The upstream table's log says what was swapped since it was first read, the
journal here which partitions were computed again since, and as of which version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tidemill.contract.pipeline_class import PipelineClass
from tidemill.file_formats.delta_changes import (
    TableHead,
    Version,
    changes,
    last_before_new_rows,
    table_head,
)
from tidemill.increments.exclusions import excluded
from tidemill.increments.increment import Increment, State
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.swap_order import lost_race
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import Recomputation
from tidemill.journal.takeovers import lineage
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import GenerationNote, read_note
from tidemill.ledger.ledger import Ledger
from tidemill.sources.due import Due
from tidemill.sources.tables.affected import affected, not_final
from tidemill.spark_logs.offset_ranges import as_offsets
from tidemill.spec.pipeline import Pipeline

NOT_READ = "until what was published there before is published here"
NOT_FINAL = "until their windows are closed"


@dataclass(frozen=True)
class PublishedPart:
    """How far the published batches of a pipeline have read a table.

    Args:
        first: The version after those that the first batch read as they then stood.
        next: The first version that no published batch has read.
        rejected: Whether a person rejected what the first batch read.
        watermark_ms: The watermark of the last of these batches.
    """

    first: int
    next: int
    rejected: bool
    watermark_ms: int


def due_partitions(pipeline: Pipeline, source: str, table: Path, snapshot: Snapshot) -> Due | None:
    """The partitions that are due because of one table source; None where none are.

    Args:
        table: The table that the source reads.

    Raises:
        HistoryExpired: the table's log has lost an entry since it was first read.
    """
    head = table_head(table)
    note = read_note(pipeline.layout, snapshot.generation)
    if head is None or note is None:
        return None
    read = _published_part(snapshot, source, head)
    if read is None:
        return None
    found = _Found(pipeline, source, table, head, read, note)
    again = _recomputations(snapshot)
    for version in changes(table, read.first, head.version + 1):
        if version.swapped:
            found.add(version, again.as_of(source, version.number))
    return found.due(snapshot)


@dataclass
class _Found:
    """What was found so far, version by version."""

    pipeline: Pipeline
    source: str
    table: Path
    head: TableHead
    read: PublishedPart
    note: GenerationNote
    versions: list[Version] = field(default_factory=list)
    open_versions: list[int] = field(default_factory=list)
    now: list[Partitions] = field(default_factory=list)
    unread: list[Partitions] = field(default_factory=list)
    open: list[Partitions] = field(default_factory=list)
    under_way: list[Partitions] = field(default_factory=list)

    def add(self, version: Version, computed: _Computed) -> None:
        """Sort what a swap has made due by what can be done about it."""
        spec = self.pipeline.spec
        rest = _rest(affected(spec, self.source, version, self.note), computed.published)
        if rest is None:
            return
        self.versions.append(version)
        remaining = _rest(rest, computed.sealed)
        if remaining != rest:
            self.under_way.append(rest if remaining is None else _minus(rest, remaining))
        if remaining is None:
            return
        if version.number > self.readable:
            self.unread.append(remaining)
            self.open_versions.append(version.number)
            return
        watermark = self.read.watermark_ms
        closed = not_final(spec, self.source, version, self.note, watermark)
        now = remaining if closed is None else remaining.without(closed)
        if now is not None:
            self.now.append(now)
            self.open_versions.append(version.number)
        if now != remaining:
            self.open.append(remaining if now is None else _minus(remaining, now))

    @cached_property
    def readable(self) -> int:
        """The version that a recomputation reads."""
        return last_before_new_rows(self.table, self.head, self.read.next)

    def due(self, snapshot: Snapshot) -> Due | None:
        if not self.versions:
            return None
        swapped = {str(sorted(one.items(), key=str)): dict(one) for one in self._swapped()}
        return Due(
            source=self.source,
            upstream=self.table.parent.name,
            versions=tuple(version.number for version in self.versions),
            open_versions=tuple(self.open_versions),
            upstream_partitions=tuple(swapped.values()),
            partitions=_joined(self.now),
            waiting=_joined([*self.unread, *self.open]),
            waits_for="; ".join(
                why for why, some in ((NOT_READ, self.unread), (NOT_FINAL, self.open)) if some
            ),
            under_way=_joined(self.under_way),
            refusal=self._refusal(),
        )

    def _swapped(self) -> Iterator[dict[str, str | None]]:
        for version in self.versions:
            yield from map(dict, version.swapped)

    def _refusal(self) -> str:
        """Why no backfill can follow; empty where one can."""
        kind = self.note.pipeline_class
        if kind is PipelineClass.UNBOUNDED:
            return "its totals depend on all that ever came"
        if kind is PipelineClass.ORDERED:
            return "its rows depend on the order of batches, in which what was swapped has no place"
        if kind is PipelineClass.WINDOW and any(one.everything for one in (*self.now, *self.open)):
            return "nothing tells which of its partitions the windows of swapped rows are in"
        if self.read.rejected:
            return "the increment that first read the table was rejected"
        return ""


@dataclass(frozen=True)
class _Computed:
    """The partitions that were computed again as of a version of the table or a later one.

    Args:
        published: By an event of the journal.
        sealed: By an increment that is on its way there.
    """

    published: tuple[Partitions, ...]
    sealed: tuple[Partitions, ...]


@dataclass(frozen=True)
class _Recomputations:
    """The recomputations of a pipeline, whatever they read.

    Args:
        published: By an event of the journal.
        sealed: By an increment that is on its way there.
    """

    published: tuple[Recomputation | None, ...]
    sealed: tuple[Recomputation | None, ...]

    def as_of(self, source: str, version: int) -> _Computed:
        return _Computed(
            _as_of(self.published, source, version), _as_of(self.sealed, source, version)
        )


def _recomputations(snapshot: Snapshot) -> _Recomputations:
    gone_out = snapshot.event_of
    return _Recomputations(
        tuple(one.recomputation for one in snapshot.events if one.kind == "swap"),
        tuple(
            one.sealed.recomputation
            for one in snapshot.increments
            if one.number not in gone_out and _is_on_its_way(snapshot, one)
        ),
    )


def _is_on_its_way(snapshot: Snapshot, one: Increment) -> bool:
    """Whether an increment may still be published as it is, or a person has to decide about it."""
    if one.state.without_rows:
        return False
    return one.state in (State.HELD, State.RELEASED) or lost_race(snapshot, one) is None


def _as_of(
    some: Iterable[Recomputation | None], source: str, version: int
) -> tuple[Partitions, ...]:
    return tuple(
        one.partitions
        for one in some
        if one is not None
        and one.kind == "backfill"
        and one.partitions is not None
        and one.tables.get(source, -1) >= version
    )


def _published_part(snapshot: Snapshot, source: str, head: TableHead) -> PublishedPart | None:
    """How far published batches have read the table; None where none has, or another table."""
    layout, generation = snapshot.layout, snapshot.generation
    last = snapshot.last_published(generation)
    ledgers = [(first, Ledger(layout, name)) for name, first in lineage(layout, generation).items()]

    def batch(number: int) -> Batch:
        ledger = next(ledger for since, ledger in ledgers if since <= number)
        return ledger.batches(number, number)[0]

    def position(of: Batch) -> int | None:
        return as_offsets(of.offsets.get(source)).get(head.id, {}).get(0)

    first = next((at for n in range(last + 1) if (at := position(batch(n)))), None)
    ended = batch(last) if first is not None else None
    until = None if ended is None else position(ended)
    if first is None or ended is None or until is None:
        return None
    out = (excluded(snapshot).ranges or {}).get(source, ())
    rejected = any(one.first == 0 for one in out)
    return PublishedPart(first, until, rejected, ended.watermark_before_ms)


def _rest(due: Partitions, computed: Iterable[Partitions]) -> Partitions | None:
    rest: Partitions | None = due
    for one in computed:
        if rest is not None:
            rest = rest.without(one)
    return rest


def _minus(some: Partitions, others: Partitions) -> Partitions:
    return some.without(others) or some


def _joined(some: list[Partitions]) -> Partitions | None:
    found: Partitions | None = None
    for one in some:
        found = one if found is None else found.joined(one)
    return found
