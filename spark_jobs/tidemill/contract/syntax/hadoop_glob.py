"""Hadoop's globs, by which Spark lists files, translated for Python.

Python knows no alternatives (`{csv,txt}`), no backslash and another negation. A file that Spark
reads and we do not see would be a run that is skipped for ever.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

_SPECIAL = frozenset("*?[{\\")
_OPEN, _OR, _CLOSE = "{", ",", "}"


def python_globs(pattern: str) -> tuple[str, ...]:
    r"""Patterns for `fnmatch` and `glob` that together match what Hadoop's pattern matches.

    `"*.{csv,txt}"` -> `("*.csv", "*.txt")`; `"[^a]\{"` -> `("[!a]{",)`.

    Raises:
        ValueError: a bracket or brace is not closed, or a backslash stands at the end.
    """
    tokens = _tokens(pattern)
    found, ended_by = _sequence(tokens, inside=False)
    if ended_by is not None:
        msg = f"a brace is not opened in '{pattern}'"
        raise ValueError(msg)
    return tuple(dict.fromkeys(found))


def fixed_part(pattern: str) -> Path:
    """The directory above the first name with anything special in it: `/in/*/x` -> `/in`."""
    return Path(*takewhile(lambda name: not _SPECIAL.intersection(name), Path(pattern).parts))


def exactly(path: Path | str) -> str:
    r"""The pattern that matches one path alone: `/in/a[1].csv` -> `/in/a\[1\].csv`."""
    return re.sub(r"[\[\]{}*?\\]", r"\\\g<0>", str(path))


def _tokens(pattern: str) -> Iterator[tuple[str, bool]]:
    """Pieces of Python's pattern, and whether each is a brace or comma of Hadoop's."""
    rest = iter(pattern)
    for character in rest:
        if character == "\\":
            yield _literal(_next(rest, pattern)), False
        elif character == "[":
            yield _class(rest, pattern), False
        else:
            yield character, character in (_OPEN, _OR, _CLOSE)


def _class(rest: Iterator[str], pattern: str) -> str:
    first = _next(rest, pattern)
    inside = "!" if first in "!^" else first
    while (character := _next(rest, pattern)) != "]":
        inside += _next(rest, pattern) if character == "\\" else character
    return f"[{inside}]"


def _sequence(tokens: Iterator[tuple[str, bool]], *, inside: bool) -> tuple[list[str], str | None]:
    """All texts up to the end of an alternative, and what ended it."""
    found = [""]
    for text, special in tokens:
        if special and text == _OPEN:
            alternatives = _alternatives(tokens)
            found = [before + after for before in found for after in alternatives]
        elif special and (inside or text == _CLOSE):
            return found, text
        else:
            found = [before + text for before in found]
    return found, None


def _alternatives(tokens: Iterator[tuple[str, bool]]) -> list[str]:
    found: list[str] = []
    ended_by: str | None = _OR
    while ended_by == _OR:
        alternative, ended_by = _sequence(tokens, inside=True)
        found += alternative
    if ended_by is None:
        msg = "a brace is not closed"
        raise ValueError(msg)
    return found


def _literal(character: str) -> str:
    return f"[{character}]" if character in "*?[" else character


def _next(rest: Iterator[str], pattern: str) -> str:
    try:
        return next(rest)
    except StopIteration:
        msg = f"a bracket is not closed, or a backslash ends '{pattern}'"
        raise ValueError(msg) from None
