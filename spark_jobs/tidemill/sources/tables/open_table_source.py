"""A table source without a JVM: how far another pipeline's table is, and how far it was read.

A position is the id of the table and, as the offset of its only partition, the first version that
was not read; so a table that was made again is never taken for the one that was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta import read_schema
from tidemill.file_formats.delta_changes import (
    HistoryExpired,
    changes,
    files_at,
    last_before_new_rows,
    table_head,
)
from tidemill.file_formats.schema_fit import misfits
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.batch import Batch
from tidemill.sources.due import Due
from tidemill.sources.input_part import InputPart
from tidemill.sources.open_source import OpenSource
from tidemill.sources.probe_result import ProbeResult, Problem
from tidemill.sources.tables.due_partitions import due_partitions
from tidemill.spark_logs.offset_ranges import Range, as_offsets
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.table import Swapped, TableSource

MOST_SHOWN = 5


class UpstreamSwapped(Refused):
    """Rows that were read have been computed again; carries `source`, `pipeline`, `partitions`."""


class SwapNotReplayed(Refused):
    """Batches cannot be replayed past a swap; carries `source`, `pipeline` and `version`."""


class UpstreamReplaced(Refused):
    """The table is another one than was read; carries `source`, `pipeline` and `path`."""


class UpstreamOfOtherSchema(Refused):
    """The table's columns do not fit the spec; carries `source`, `pipeline` and `misfits`."""


@dataclass(frozen=True)
class OpenTableSource(OpenSource[TableSource]):
    """The published table of another pipeline."""

    def probe(self, batches: Sequence[Batch]) -> ProbeResult:
        head = table_head(self._table)
        if head is None:
            return ProbeResult(self.name, new=0, unit="versions")
        read = _last_position(batches, self.name)
        if read and head.id not in read:
            return ProbeResult(self.name, 0, "versions", problems=(self._replaced(),))
        first = read.get(head.id, {}).get(0, 0)
        problems = [problem for problem in (self._misfit(),) if problem is not None]
        if first == 0:
            files = files_at(self._table, head.version)
            new = 1 if files else 0
        else:
            versions = [*changes(self._table, first, head.version + 1)]
            files = tuple(file for version in versions for file in version.added)
            new = sum(bool(version.added) for version in versions)
        # A generation that is being built reads the table as it stands.
        built = self.pipeline.generation is not None
        due = None if built else self.due(Snapshot(self.pipeline.layout))
        if due is not None:
            problems += self._due(due)
        arrived = [file.modified for file in files]
        return ProbeResult(
            self.name,
            new=new,
            unit="versions",
            backlog_bytes=sum(file.size for file in files),
            last_arrival=max(arrived, default=None),
            oldest_new=min(arrived, default=None),
            problems=tuple(problems),
            follows=due if self.spec.swapped is Swapped.FOLLOW else None,
            facts={
                "pipeline": self.spec.pipeline,
                "due": None if due is None else due.model_dump(mode="json"),
                "version": head.version,
                "ends": {head.id: {0: head.version + 1}},
            },
        )

    def lost(self, part: InputPart) -> InputPart:
        wanted = part.ranges.get(self.name, ())
        gone = tuple(one for one in wanted if self._why_gone(one) is not None)
        return InputPart(ranges={self.name: gone} if gone else {})

    def verify_held(self, generation: str, ranges: Sequence[Range]) -> None:
        for one in ranges:
            if gone := self._why_gone(one):
                raise gone

    def version_read_again(self, last: Batch) -> int | None:
        read = _last_position([last], self.name)
        head = table_head(self._table)
        if head is None or head.id not in read:
            return None
        return last_before_new_rows(self._table, head, read[head.id][0])

    def due(self, snapshot: Snapshot) -> Due | None:
        if self.spec.swapped is Swapped.IGNORE:
            return None
        return due_partitions(self.pipeline, self.name, self._table, snapshot)

    def refuse_replay(self, ranges: Sequence[Range], version: int) -> None:
        if not ranges:
            return
        swaps = changes(self._table, ranges[0].until, version + 1)
        swap = next((one.number for one in swaps if one.swapped), None)
        if swap is not None:
            raise SwapNotReplayed(
                f"{self.pipeline.name} computes rows again batch by batch, and version {swap} of "
                f"the table of '{self.spec.pipeline}' swapped rows of several batches.",
                remedy="Compute all of it again: tidemill rebuild "
                f"{self.pipeline.name} --reason TEXT.",
                source=self.name,
                pipeline=self.spec.pipeline,
                version=swap,
            )

    @property
    def _table(self) -> Path:
        return Layout(self.pipeline.layout.root, self.spec.pipeline).table

    def _why_gone(self, wanted: Range) -> Refused | None:
        head = table_head(self._table)
        if head is None or head.id != wanted.topic:
            return self._replaced().error
        try:
            for _ in changes(self._table, wanted.first, wanted.until):
                pass
        except HistoryExpired as error:
            return error
        return None

    def _misfit(self) -> Problem | None:
        found = [*misfits(read_schema(self._table), self.spec.types)]
        if not found:
            return None
        error = UpstreamOfOtherSchema(
            f"The table of pipeline '{self.spec.pipeline}' does not fit sources.{self.name}: "
            f"{found[0]}.",
            remedy=f"Correct sources.{self.name}.schema, or the transform of "
            f"'{self.spec.pipeline}'.",
            source=self.name,
            pipeline=self.spec.pipeline,
            misfits=found,
        )
        return Problem(Rating.HOLD, error)

    def _replaced(self) -> Problem:
        error = UpstreamReplaced(
            f"{self._table} is not the table any more that sources.{self.name} has read.",
            remedy="Restore that table; or give the source another name, under which the new one "
            "is read from its beginning, beside the rows of the old one.",
            source=self.name,
            pipeline=self.spec.pipeline,
            path=self._table,
        )
        return Problem(Rating.HOLD, error)

    def _due(self, due: Due) -> Iterator[Problem]:
        """What is due, as the spec rates it, unless a run follows of its own accord."""
        follows = self.spec.swapped is Swapped.FOLLOW
        if follows and not due.refusal:
            return
        named = [_named(one) for one in due.upstream_partitions]
        shown = ", ".join(named[:MOST_SHOWN]) + (", …" if len(named) > MOST_SHOWN else "")
        name, upstream = self.pipeline.name, self.spec.pipeline
        error = UpstreamSwapped(
            f"Pipeline '{upstream}' has computed again what sources.{self.name} read before: "
            f"{shown} (in {counted(len(due.versions), 'version')}, the last one "
            f"{due.versions[-1]}). Due here: {due}."
            + (f" No backfill of {name} follows: {due.refusal}." if due.refusal else ""),
            remedy=f"Compute everything again: tidemill rebuild {name} --reason TEXT."
            if due.refusal
            else f"Compute what is due again: tidemill follow {name}.",
            source=self.name,
            pipeline=upstream,
            partitions=[*due.upstream_partitions],
            due=due.model_dump(mode="json"),
        )
        holds = due.refusal or due.partitions is not None
        warns = self.spec.swapped is Swapped.WARN or not holds
        yield Problem(Rating.WARN if warns else Rating.HOLD, error)


def _last_position(batches: Sequence[Batch], name: str) -> dict[str, dict[int, int]]:
    """The source's position after the last batch; empty where nothing was read."""
    return as_offsets(batches[-1].offsets.get(name)) if batches else {}


def _named(partition: dict[str, str | None]) -> str:
    return "/".join(f"{name}={value}" for name, value in partition.items()) or "the whole table"
