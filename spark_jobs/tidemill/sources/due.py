"""The partitions of a pipeline that are due: what they were made of has changed upstream."""

from collections.abc import Sequence
from functools import reduce

from tidemill.contract.document import FrozenModel
from tidemill.journal.partition_set import Partitions


class Due(FrozenModel):
    """What is due since another pipeline's table swapped rows that a source had read.

    Attributes:
        source: The table source.
        upstream: The pipeline that publishes its table.
        versions: The versions of that table whose swaps are not accounted for, in order.
        open_versions: Those of them that still have to be read again, now or later.
        upstream_partitions: The partitions there that they swapped: column -> value.
        partitions: Those of this pipeline that can be computed again now; None for none.
        waiting: Those that cannot yet; None for none.
        waits_for: Why they wait; empty where none does.
        under_way: Those that an increment holds which is not published yet; None for none.
        refusal: Why only a rebuild can follow; empty where a backfill can.
    """

    source: str
    upstream: str
    versions: tuple[int, ...]
    open_versions: tuple[int, ...] = ()
    upstream_partitions: tuple[dict[str, str | None], ...] = ()
    partitions: Partitions | None = None
    waiting: Partitions | None = None
    waits_for: str = ""
    under_way: Partitions | None = None
    refusal: str = ""

    def __str__(self) -> str:
        parts = []
        if self.partitions is not None:
            parts.append(f"{self.partitions}")
        if self.waiting is not None:
            parts.append(f"{self.waiting}, {self.waits_for}")
        if self.under_way is not None:
            parts.append(f"{self.under_way}, computed and not published yet")
        return "; ".join(parts)


def all_partitions(due: Sequence[Due]) -> Partitions | None:
    """The partitions that a backfill can compute again now, of all sources; None for none."""
    if any(one.refusal for one in due):
        return None
    found = [one.partitions for one in due if one.partitions is not None]
    return reduce(Partitions.joined, found) if found else None
