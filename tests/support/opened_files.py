"""Which files this process opens, as Python itself reports it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_watched: list[tuple[Path, list[Path]]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and isinstance(arguments[0], str | Path):
        path = Path(arguments[0])
        for folder, opened in _watched:
            if path.is_relative_to(folder):
                opened.append(path)


# A hook stays for as long as the process does.
sys.addaudithook(_note)


@contextmanager
def opened_files(folder: Path) -> Iterator[list[Path]]:
    """The files below a folder that are opened meanwhile, in order."""
    opened: list[Path] = []
    _watched.append((folder, opened))
    try:
        yield opened
    finally:
        _watched.remove((folder, opened))
