"""Text that every program can store and read back: Unicode that has a form in UTF-8.

A byte of a file's name or of a command's argument that is not UTF-8 reaches Python as half of a
character (a lone surrogate). Written into a document, it makes the document unreadable.
"""

import sys
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from typing import Any

from tidemill.contract.errors import UsageError, escaped


class NotUnicode(UsageError):
    """Somebody typed what is not Unicode text; nothing was done. Carries `given`, escaped."""


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return escaped(text) == text


def refuse_no_unicode(given: Iterable[Any] | Mapping[str, Any]) -> None:
    """Look at what a person typed, before anything is made of it.

    Args:
        given: Arguments of a command or parameters of a run; what is not text is left alone.

    Raises:
        NotUnicode: some of it is not Unicode text.
    """
    for text in _texts(given):
        if not is_unicode(text):
            raise NotUnicode(
                f"'{escaped(text)}' holds a byte that is not UTF-8.",
                remedy="Type it in UTF-8: it is kept with the pipeline, and has to be read again.",
                given=escaped(text),
            )


def show_any_text() -> None:
    """Let this process print what it quotes, such as a file's name, whatever that holds."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for item in value:
            yield from _texts(item)
