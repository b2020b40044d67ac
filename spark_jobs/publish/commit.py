"""Compare and commit: a repeated publish is a no-op because we look first, on one snapshot.

From a freshly loaded table Delta accepts the same application transaction again and doubles the
rows; what it does refuse is a stale table object. So: load, compare, commit on that same object.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from spark_jobs.contract.errors import LeaseLost, TransientError
from spark_jobs.ledger.journal import Event
from spark_jobs.publish.target import NotOurTurn

LEASE_TRANSACTION = "tidemill.lease"
ATTEMPTS = 5
WAIT_SECONDS = 0.1
# What delta-rs says when somebody else committed first; it has no class of its own for it.
CONFLICTS = ("concurrent", "already exists", "conflict", "changed since last commit")


class CommitContended(TransientError):
    """Other writers kept committing to the table."""


class SnapshotStale(Exception):
    """The table moved on since it was compared: start again from load."""


def application(pipeline: str, generation: str) -> str:
    """The application id under which a generation's batches are counted."""
    return f"{pipeline}/{generation}"


def load(path: Path) -> DeltaTable | None:
    """A fresh snapshot, or None where no table exists yet."""
    return DeltaTable(path) if DeltaTable.is_deltatable(str(path)) else None


def head(table: DeltaTable | None, app: str) -> int:
    """The last batch that a table holds of a generation, -1 for none."""
    version = table.transaction_version(app) if table else None
    return -1 if version is None else version


def properties(
    epoch: int, metadata: dict[str, str], *batches: Transaction, exactly: bool = False
) -> CommitProperties:
    """What every commit of ours carries: the lease's epoch, where it came from, and the batch.

    Args:
        epoch: Of the lease.
        metadata: For the table's history.
        batches: The application transaction that counts the batch.
        exactly: Whether to commit on the loaded version or not at all. Else delta-rs commits on a
            newer one where it sees no conflict; and that somebody's OPTIMIZE took away the very
            file that we remove is none to it, and the removed rows come back (deltalake 1.6.6).
    """
    return CommitProperties(
        max_commit_retries=0 if exactly else None,
        custom_metadata=metadata,
        app_transactions=[*batches, Transaction(LEASE_TRANSACTION, epoch)],
    )


def compare_and_commit(
    path: Path,
    event: Event,
    app: str,
    epoch: int,
    commit: Callable[[DeltaTable | None], None],
) -> bool:
    """Commit an event once.

    Args:
        path: The table's root.
        event: What to commit; its first batch must follow the table's head.
        app: From `application`.
        epoch: Of the lease that the writer holds.
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
        return retrying(_once, path, event, app, epoch, commit)
    except SnapshotStale as error:
        raise CommitContended(
            f"{path}: another writer committed first, {ATTEMPTS} times ({error}).",
            remedy="The retry starts again from the new version.",
            path=path,
        ) from error


def _once(
    path: Path,
    event: Event,
    app: str,
    epoch: int,
    commit: Callable[[DeltaTable | None], None],
) -> bool:
    table = load(path)
    published = head(table, app)
    if event.last <= published:
        return False
    if event.first != published + 1:
        raise NotOurTurn(
            f"{path} ends at batch {published}, so batches {event.first} to {event.last} "
            "are not next.",
            remedy="`tidemill status NAME` shows what comes before; nothing was published.",
            path=path,
            head=published,
            first=event.first,
        )
    fence = head(table, LEASE_TRANSACTION)
    if fence > epoch:
        raise LeaseLost(
            f"{path} was written under epoch {fence}, and this process holds {epoch}.",
            remedy="Nothing to do: the newer run carries on.",
            epoch=epoch,
            newer=fence,
        )
    seen = -1 if table is None else table.version()
    try:
        commit(table)
    except (CommitFailedError, DeltaError) as error:
        # Where no retry was allowed delta-rs says nothing but how often it tried.
        if _is_conflict(error) or _newest(path) > seen:
            raise SnapshotStale(str(error)) from error
        raise
    return True


def _newest(path: Path) -> int:
    table = load(path)
    return -1 if table is None else table.version()


def _is_conflict(error: Exception) -> bool:
    text = str(error).lower()
    return any(words in text for words in CONFLICTS)
