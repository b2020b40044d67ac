"""Whole partitions of a table, by value, such as a backfill replaces."""

from __future__ import annotations

from collections.abc import Mapping

from tidemill.contract.document import FrozenModel
from tidemill.spark_logs.partition_paths import NULL_PARTITION


class Partitions(FrozenModel):
    """Partitions that are alike in some columns.

    Attributes:
        columns: Those of `output.partition_by` that tell them; without any it is the whole table.
        values: For each partition its values, as they are in directories' names; sorted. Null is
            `NULL_PARTITION`.
    """

    columns: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()

    @property
    def everything(self) -> bool:
        return not self.columns

    def hold(self, partition: Mapping[str, str | None]) -> bool:
        """Whether a file's partition is one of them; one that says nothing of them may be."""
        if any(column not in partition for column in self.columns):
            return True
        values = (partition[column] for column in self.columns)
        named = tuple(NULL_PARTITION if value is None else value for value in values)
        return self.everything or named in self._known

    def overlap(self, other: Partitions) -> bool:
        """Whether a partition may be one of both."""
        if self.columns != other.columns:
            # Sets of other columns cannot be compared.
            return True
        return self.everything or not self._known.isdisjoint(other.values)

    def joined(self, other: Partitions) -> Partitions:
        """Those of both; the whole table where they are told by different columns."""
        if self.columns != other.columns:
            return Partitions()
        values = sorted(self._known | other._known)
        return Partitions(columns=self.columns, values=tuple(values))

    def without(self, other: Partitions) -> Partitions | None:
        """Those that are certainly not among others; None where none remains."""
        if other.everything:
            return None
        if self.columns != other.columns:
            return self
        known = other._known
        values = tuple(value for value in self.values if value not in known)
        return Partitions(columns=self.columns, values=values) if values else None

    @property
    def _known(self) -> frozenset[tuple[str, ...]]:
        return frozenset(self.values)

    def __str__(self) -> str:
        if self.everything:
            return "the whole table"
        names = ["/".join(value) for value in self.values]
        shown = ", ".join(names[:3]) + (f" … {names[-1]}" if len(names) > 3 else "")
        return f"{len(names)} of {'/'.join(self.columns)}: {shown}"
