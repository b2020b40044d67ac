"""Compare and commit: on one snapshot, so that a repeated publish changes nothing.

From a freshly loaded table Delta accepts the same application transaction again and doubles the
rows; what it does refuse is a stale table object. So: load, compare, commit on that same object.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from tidemill.contract.errors import TransientError
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_log import has_table, put_aside, torn_first_entry
from tidemill.file_formats.delta_table import open_table
from tidemill.publish.delta.table_sync import sync_table
from tidemill.publish.fence import fenced_out
from tidemill.storage.tables_read import is_read

LEASE_TRANSACTION = "tidemill.lease"
ATTEMPTS = 5
WAIT_SECONDS = 0.1
# What delta-rs says when somebody else committed first; it has no class of its own for it.
CONFLICTS = ("concurrent", "already exists", "conflict", "changed since last commit")
# After such a commit no entry of the log is removed, however old.
LOG_KEPT = PostCommitHookProperties(cleanup_expired_logs=False)


class CommitContended(TransientError):
    """Other writers kept committing to the table."""


class SnapshotStale(Exception):
    """The table moved on since it was compared: start again from load."""


class Turn(Protocol):
    """The position of a commit relative to what a table has; see `position.DeltaPosition`."""

    @property
    def layout(self) -> Layout: ...

    def has(self, table: DeltaTable | None) -> bool: ...

    def check(self, table: DeltaTable | None) -> None: ...


@dataclass(frozen=True)
class AnyTurn:
    """The position of a commit that no event of the journal stands for: it is always next."""

    layout: Layout

    def has(self, table: DeltaTable | None) -> bool:
        return False

    def check(self, table: DeltaTable | None) -> None:
        """Nothing has to come before."""


def load(path: Path) -> DeltaTable | None:
    """A fresh snapshot, or None where no table exists yet."""
    return open_table(path) if has_table(path) else None


def properties(
    epoch: int, metadata: dict[str, str], *counted: Transaction, exactly: bool = False
) -> CommitProperties:
    """What every commit of ours carries: the lease's epoch, where it came from, and what counts it.

    Args:
        counted: The application transactions that count the event.
        exactly: Whether to commit on the loaded version only. If not, delta-rs commits on a
            newer one where it sees no conflict; and that somebody's OPTIMIZE took away the very
            file that we remove is not a conflict to it: removed rows come back (deltalake 1.6.6).
    """
    return CommitProperties(
        max_commit_retries=0 if exactly else None,
        custom_metadata=metadata,
        app_transactions=[*counted, Transaction(LEASE_TRANSACTION, epoch)],
    )


def after_commit(layout: Layout) -> PostCommitHookProperties:
    """What delta-rs does after a commit: every hundredth one gets a checkpoint.

    Old entries of the log go then too, unless other pipelines read the table.
    """
    return LOG_KEPT if is_read(layout) else PostCommitHookProperties()


def fence(path: Path, epoch: int) -> None:
    """Let no writer of an older epoch commit to a table any more.

    Args:
        path: The table's root; where there is no table nothing happens.
        epoch: Epoch of the caller's lease.
    """
    table = load(path)
    if table is None or (table.transaction_version(LEASE_TRANSACTION) or 0) >= epoch:
        return
    table.create_write_transaction(
        [],
        "append",
        table.schema(),
        table.metadata().partition_columns,
        commit_properties=properties(epoch, {"tidemill.fence": str(epoch)}),
        post_commithook_properties=LOG_KEPT,
    )


def compare_and_commit(
    path: Path,
    turn: Turn,
    epoch: int,
    commit: Callable[[DeltaTable | None], None],
) -> bool:
    """Commit an event once.

    Args:
        epoch: The epoch of the lease that the writer holds.
        commit: Does it, on the very snapshot that was compared; raises `SnapshotStale` if it had
            to change the table first.

    Returns:
        True if this call committed, False if the table already had it.

    Raises:
        NotOurTurn: an earlier batch is missing in the table.
        LeaseLost: the table has seen a newer epoch.
        CommitContended: other writers won every time.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(SnapshotStale),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(multiplier=WAIT_SECONDS, max=2),
        reraise=True,
    )
    try:
        return retrying(_once, path, turn, epoch, commit)
    except SnapshotStale as error:
        raise CommitContended(
            f"{path}: another writer committed first, {ATTEMPTS} times ({error}).",
            remedy="The next try starts from the new version.",
            path=path,
        ) from error


def _once(
    path: Path,
    turn: Turn,
    epoch: int,
    commit: Callable[[DeltaTable | None], None],
) -> bool:
    table = load(path)
    if turn.has(table):
        # Committed by one that may have died over it.
        sync_table(path, turn.layout.root)
        return False
    turn.check(table)
    fence = table.transaction_version(LEASE_TRANSACTION) if table else None
    if fence is not None and fence > epoch:
        raise fenced_out(turn.layout, str(path), epoch, fence)
    seen = -1 if table is None else table.version()
    torn = torn_first_entry(path)
    if torn is not None:
        # A power cut came between the first commit and its sync: the table is made again.
        put_aside(torn)
    try:
        commit(table)
    except (CommitFailedError, DeltaError) as error:
        # Where no retry was allowed delta-rs says nothing but how often it tried.
        if _is_conflict(error) or _newest(path) > seen:
            raise SnapshotStale(str(error)) from error
        raise
    finally:
        # Also entries before a `SnapshotStale`: without them the next version is unreadable.
        sync_table(path, turn.layout.root, seen + 1)
    return True


def _newest(path: Path) -> int:
    table = load(path)
    return -1 if table is None else table.version()


def _is_conflict(error: Exception) -> bool:
    text = str(error).lower()
    return any(words in text for words in CONFLICTS)
