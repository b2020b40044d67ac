"""A requested recomputation: the batches it covers and what it replaces."""

from pydantic import AliasChoices, Field

from tidemill.contract.document import FrozenModel
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.run_kinds import EVENT_OF, RecomputationKind


class BatchRange(FrozenModel):
    """A range of batches of one generation, in its sink and its ledger.

    What was computed again has a generation of its own, such as `backfill-3f2a9c`, whose one batch
    has the number of the last batch that it stands for.
    """

    generation: str
    first: int
    last: int


class Recomputation(FrozenModel):
    """A recomputation: why an increment is not a run of live batches, and what it replaces.

    Attributes:
        kind: `redo` stands for the unpublished batches `first` to `last` and supersedes their
            increments; `backfill` replaces partitions as of batch `last`; `reinstate` adds the rows
            of a rejected increment; `rebuild` replaces the whole table; `rewind` leaves the table
            with the rows of an earlier event.
        generation: The live generation whose batches these are.
        seq: The last event of the journal when `last` was fixed; 0 for none. A later event in
            the same partitions conflicts with it.
        partitions: The partitions that are removed when it goes out; None for none.
        replaces_rejects_of: Origins (files, or topic/partition/offset) whose rejected rows without
            a partition are replaced too; None where such rows stay as they are.
        os_user: Operating-system user of that process; None in older documents.
        supersedes: The increments that it takes the place of.
        reinstates: The rejected increments whose input counts again.
        excludes: Files that do not count any more from its event on.
        tables: Table source -> the version of its table that is read.
        rewinds_to: The seq of the last event whose rows a rewind keeps; None of the other kinds.
    """

    kind: RecomputationKind = Field(validation_alias=AliasChoices("kind", "by_way_of"))
    generation: str
    first: int
    last: int
    seq: int
    partitions: Partitions | None = None
    code_hash: str
    spec_hash: str
    replaces_rejects_of: tuple[str, ...] | None = Field(
        default=None, validation_alias=AliasChoices("replaces_rejects_of", "forgets")
    )
    by: str
    os_user: str | None = None
    reason: str
    supersedes: tuple[int, ...] = ()
    reinstates: tuple[int, ...] = ()
    excludes: tuple[InputFile, ...] = ()
    tables: dict[str, int] = {}
    rewinds_to: int | None = None

    @property
    def in_order(self) -> bool:
        """Whether it is published in the order of batches, and not as soon as it has passed."""
        return EVENT_OF[self.kind] == "increment"
