"""Which folders a piece of code lists, as the interpreter's audit events say."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

# Facts on the open `with` blocks: what they watch, and what was listed below it.
_watching: list[tuple[Path, list[Path]]] = []


@contextmanager
def listings(folder: Path) -> Iterator[list[Path]]:
    """The folders at or below a folder that are listed while the `with` block runs."""
    _install()
    watched = (folder, list[Path]())
    _watching.append(watched)
    try:
        yield watched[1]
    finally:
        _watching.remove(watched)


@cache
def _install() -> None:
    # An audit hook stays for as long as the interpreter does.
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event in ("os.listdir", "os.scandir"):
        listed = Path(arguments[0] or ".")
        for folder, found in _watching:
            if listed.is_relative_to(folder):
                found.append(listed)
