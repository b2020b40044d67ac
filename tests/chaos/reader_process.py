"""The campaign's reader, seen from the process that plays a history."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tidemill.contract.project import REPOSITORY


class ReaderProcess:
    """A reader that looks all the time, and says on demand what it has found."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def look(self) -> dict[str, Any]:
        """Let it look once more; returns the fields of its `Found`."""
        return self._ask("look")

    def settle(self) -> None:
        """Let it look once more; no power cut may take what it sees."""
        self._ask("settle")

    @contextmanager
    def without_power(self) -> Iterator[None]:
        """It does not look while the block runs, and what was not settled may be gone then."""
        self._ask("power")
        yield
        self._type("on")

    def _type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _ask(self, line: str) -> dict[str, Any]:
        self._type(line)
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


@contextmanager
def reading(root: Path, folder: Path, dsn: Sequence[str]) -> Iterator[ReaderProcess]:
    """A reader while the `with` block runs.

    Args:
        folder: The input.
        dsn: The address of the database, if there is one.
    """
    command = [sys.executable, "-m", "tests.chaos.reader", str(root), str(folder), *dsn]
    with subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield ReaderProcess(process)
        finally:
            process.kill()
