"""The head of a Delta table, read from the newest entries of its log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tidemill.file_formats.delta_log import DIGITS, LOG, actions_of
from tidemill.publish.delta.commit import LEASE_TRANSACTION

# In the metadata of a commit of ours: the number of the journal's event, the hash of its files.
JOURNAL, FILES = "tidemill.journal", "tidemill.files"


@dataclass(frozen=True)
class Commit:
    """A commit of ours: an event of the journal, in the version of the table that first shows it.

    Args:
        files_hash: Hash of its files; None where the table does not say.
    """

    version: int
    seq: int
    files_hash: str | None
    epoch: int | None


@dataclass(frozen=True)
class LogHead:
    """The end of a table's log.

    Args:
        shown: The last event that readers see; None where no entry that is there tells.
        committed: The last event that was ever committed: later than `shown` where somebody has
            restored an older version.
        torn: Entries at the end that are not whole JSON, as a power cut leaves them; delta-rs reads
            the table as of the version before.
        empty: Whether there is no log at all.
    """

    shown: Commit | None = None
    committed: Commit | None = None
    torn: tuple[Path, ...] = ()
    empty: bool = False


def read_head(table: Path) -> LogHead:
    """Read a log from its newest entry down, to the first that is of ours.

    Args:
        table: The table's directory, which may be missing.
    """
    entries = _entries(table / LOG)
    if not entries:
        return LogHead(empty=not _has_checkpoint(table / LOG))
    torn: list[Path] = []
    shown = committed = None
    upto = max(entries)
    for version in sorted(entries, reverse=True):
        entry = _read(entries[version])
        if entry is None:
            torn.append(entries[version])
            continue
        info, epoch = entry
        if JOURNAL in info:
            own = Commit(version, int(info[JOURNAL]), info.get(FILES), epoch)
            committed = committed or own
            if version <= upto:
                shown = own
                break
        elif info.get("operation") == "RESTORE" and version <= upto:
            upto = _restored(info, entries, version)
    return LogHead(shown, committed, tuple(torn))


def _entries(log: Path) -> dict[int, Path]:
    """Version -> its entry."""
    names = log.iterdir() if log.is_dir() else ()
    return {
        int(path.stem): path
        for path in names
        if path.suffix == ".json" and len(path.stem) == DIGITS and path.stem.isdecimal()
    }


def _has_checkpoint(log: Path) -> bool:
    return log.is_dir() and any(log.glob("*.checkpoint*.parquet"))


def _read(entry: Path) -> tuple[dict[str, Any], int | None] | None:
    """A commit's own facts and its epoch; None if the entry is torn."""
    actions = actions_of(entry)
    if actions is None:
        return None
    info: dict[str, Any] = {}
    epoch = None
    for action in actions:
        info.update(action.get("commitInfo", {}))
        transaction = action.get("txn", {})
        if transaction.get("appId") == LEASE_TRANSACTION:
            epoch = int(transaction["version"])
    return info, epoch


def _restored(info: Mapping[str, Any], entries: Mapping[int, Path], version: int) -> int:
    """The version that a RESTORE has brought back."""
    given = info.get("operationParameters", {})
    if given.get("version") is not None:
        return int(given["version"])
    until = _milliseconds(given.get("datetime") or given.get("timestamp"))
    return next((v for v in _below(entries, version) if _time(entries[v]) <= until), -1)


def _below(entries: Mapping[int, Path], version: int) -> Sequence[int]:
    return sorted((one for one in entries if one < version), reverse=True)


def _time(entry: Path) -> float:
    info, _ = _read(entry) or ({}, None)
    return float(info.get("timestamp", 0))


def _milliseconds(given: Any) -> float:
    text = str(given)
    if text.isdecimal():
        return float(text)
    try:
        return datetime.fromisoformat(text).timestamp() * 1000
    except ValueError:
        return -1
