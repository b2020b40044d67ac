"""Looking for a secret wherever somebody who should not know it could read it.

In files, in a database's every row, and on the command lines of all processes of the machine.
"""

from __future__ import annotations

import base64
import gzip
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

PAUSE = 0.02
# Seconds in which a process is read at each pass; passes after which all are.
YOUNG, ALL_EVERY = 1.0, 100


def spellings(secret: str) -> tuple[bytes, ...]:
    """A secret of letters and digits as it is, in UTF-16, in hex and in base64."""
    plain = secret.encode()
    # Within a longer text base64 begins at any of three places; whole groups look the same.
    groups = (base64.b64encode(plain[at : at + (len(plain) - at) // 3 * 3]) for at in range(3))
    return (plain, secret.encode("utf-16-le"), plain.hex().encode(), *groups)


def is_in(content: bytes, secret: str) -> bool:
    """Whether a secret can be read in some bytes, compressed by gzip or not."""
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return False
    return any(spelling in content for spelling in spellings(secret))


def files_with(secret: str, *folders: Path) -> list[Path]:
    """The files under some folders in whose name or content a secret can be read."""
    return [
        path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if is_in(str(path).encode(), secret) or (path.is_file() and _holds(path, secret))
    ]


def _holds(path: Path, secret: str) -> bool:
    try:
        return is_in(path.read_bytes(), secret)
    except FileNotFoundError:
        return False


def tables_with(secret: str, database: Path) -> list[str]:
    """The tables of an SQLite database in one of whose rows a secret can be read."""
    with closing(sqlite3.connect(database)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [
            name
            for (name,) in tables.fetchall()
            if any(
                is_in(_row(row), secret) for row in connection.execute(f'SELECT * FROM "{name}"')
            )
        ]


def _row(row: tuple[object, ...]) -> bytes:
    values = (value if isinstance(value, bytes) else str(value).encode() for value in row)
    return b"\0".join(values)


class CommandLines:
    """All command lines that were there while it watched, of whatever process."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._done = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[CommandLines]:
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            yield self
        finally:
            self._done.set()
            watcher.join()

    def __len__(self) -> int:
        return len(self._seen)

    def with_(self, secret: str) -> list[bytes]:
        """Those in which a secret can be read."""
        return [line for line in self._seen.copy() if is_in(line, secret)]

    def _watch(self) -> None:
        born: dict[str, float] = {}
        passes = 0
        while not self._done.wait(PAUSE):
            now = time.monotonic()
            there = [entry.name for entry in os.scandir("/proc") if entry.name.isdigit()]
            born = {pid: born.get(pid, now) for pid in there}
            # Who is new may still become another program; to read all of them takes a core.
            for pid in there if passes % ALL_EVERY == 0 else _young(born, now):
                with suppress(OSError):
                    self._seen.add(Path("/proc", pid, "cmdline").read_bytes())
            passes += 1


def _young(born: Mapping[str, float], now: float) -> list[str]:
    return [pid for pid, since in born.items() if now - since < YOUNG]
