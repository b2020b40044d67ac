"""What the page of errors says of each code; the package carries the page."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Literal, cast

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import UsageError

PAGE = "errors.md"
_ROW = re.compile(
    r"^\| `(\w+)` \| (shell|Airflow|both) \| (.*) \| \*\*(\w+)\*\*: (.*) \|.*\|$", re.MULTILINE
)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")

Kind = Literal["command", "spec", "input", "wait", "restore", "environment", "usage"]
ReadAt = Literal["shell", "Airflow", "both"]


class ExplainedError(FrozenModel):
    """An error's code and what is known of it.

    Attributes:
        read_at: Who can meet it.
        means: What it says about the pipeline, in a sentence or two.
        kind: The kind of the remedy.
        remedy: What to do, in plain text.
    """

    code: str
    read_at: ReadAt
    means: str
    kind: Kind
    remedy: str


@cache
def read_errors() -> tuple[ExplainedError, ...]:
    """Every error, in the order of the alphabet."""
    page = (files("tidemill.reporting") / PAGE).read_text(encoding="utf-8")
    return tuple(
        ExplainedError(
            code=code,
            read_at=cast(ReadAt, read_at),
            means=_plain(means),
            kind=cast(Kind, kind),
            remedy=_plain(remedy),
        )
        for code, read_at, means, kind, remedy in _ROW.findall(page)
    )


def explained(code: str) -> ExplainedError:
    """The error of a code, in whatever case it is typed, in brackets or without.

    Raises:
        UsageError: there is none; carries `asked` and the `nearest` that there are.
    """
    known = {error.code.lower(): error for error in read_errors()}
    asked = code.strip("[]").lower()
    if asked in known:
        return known[asked]
    nearest = [known[one].code for one in _near(asked, known)]
    raise UsageError(
        f"There is no error '{code}'.",
        remedy=f"Did you mean {' or '.join(nearest)}?"
        if nearest
        else "List them all: tidemill explain.",
        asked=code,
        nearest=nearest,
    )


def _near(asked: str, known: Iterable[str]) -> list[str]:
    """Codes that are spelt alike, or else hold what was typed; at most three."""
    known = list(known)
    alike = get_close_matches(asked, known, n=3)
    return alike or [one for one in known if len(asked) > 2 and asked in one][:3]


def _plain(markdown: str) -> str:
    """A text without links: a page of `docs` is named by its path."""
    return _LINK.sub(r"\1 (docs/\2)", markdown)
