"""The documents of an increment: what was sealed, its verdict and the decisions on it."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from pydantic import AliasChoices, Field

from tidemill.contract.document import Document, FrozenModel
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.batch import Batch


class NetFile(FrozenModel):
    """A file of a net payload.

    Attributes:
        path: Relative to the increment's folder.
    """

    path: str
    size: int
    rows: int
    uncompressed_bytes: int
    sha256: str


class Sealed(Document):
    """The set: every file of batches `first` to `last` of one generation.

    Attributes:
        rows: That become visible if it goes out.
        net: In modes `update` and `complete` the files that these rows were merged into; None in
            mode `append`, where they are the sink's own.
        recomputation: What it stands for where it was computed again; None for live batches.
        epoch: Epoch of the writer's lease; 0 in older documents.
    """

    increment: int
    generation: str
    first: int
    last: int
    files: int
    files_hash: str
    rows: int
    rejected: int
    net: tuple[NetFile, ...] | None = None
    recomputation: Recomputation | None = Field(
        default=None, validation_alias=AliasChoices("recomputation", "made")
    )
    run_id: str
    sealed: datetime
    epoch: int = 0

    @property
    def stored_in(self) -> BatchRange:
        """The batches that hold its files."""
        return BatchRange(generation=self.generation, first=self.first, last=self.last)

    @property
    def covers(self) -> BatchRange:
        """The live batches that it publishes."""
        if self.recomputation is None:
            return self.stored_in
        recomputation = self.recomputation
        return BatchRange(
            generation=recomputation.generation, first=recomputation.first, last=recomputation.last
        )

    @property
    def in_order(self) -> bool:
        """Whether it goes out in the order of batches."""
        return self.recomputation is None or self.recomputation.in_order


class Verdict(Document):
    """One judgement of one sealed set.

    Attributes:
        epoch: Epoch of the judge's lease; 0 in older documents.
    """

    increment: int
    outcome: Literal["passed", "held"]
    files_hash: str
    suite_hash: str
    gate_hash: str
    engine: str
    why: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    judgement: dict[str, Any] = {}
    run_id: str
    judged: datetime
    epoch: int = 0


class Release(Document):
    """A person's decision to publish in spite of a verdict.

    Attributes:
        by: Who decides, as they say.
        os_user: Operating-system user of that process; None in older documents.
    """

    increment: int
    files_hash: str
    by: str
    os_user: str | None = None
    reason: str
    released: datetime
    epoch: int = 0


class Rejection(Document):
    """A person's decision that the input of an increment is not to count; as `Release`.

    `by` is `tidemill` where a recomputation lost its race to one that holds the same.
    """

    increment: int
    files_hash: str
    by: str
    os_user: str | None = None
    reason: str
    rejected: datetime
    epoch: int = 0


def hash_of_files(batches: Iterable[Batch], net: Iterable[NetFile] | None = None) -> str:
    """The hash of what was written: path, size and rows of every file, in a fixed order.

    Args:
        net: What their rows were merged into, with the hash of its content.
    """
    lines = sorted(
        f"{batch.generation}\0{file.path}\0{file.size}\0{file.rows}"
        for batch in batches
        for file in batch.outputs
    )
    lines += [f"net\0{file.path}\0{file.size}\0{file.rows}\0{file.sha256}" for file in net or ()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
