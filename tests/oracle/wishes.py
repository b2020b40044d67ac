"""What people decide, mend and ask for in a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Asked = Literal["backfill", "redo", "rebuild", "reject", "reinstate"]


@dataclass(frozen=True)
class Edit:
    """The code or a row rule becomes the other one, or what it was before."""

    code: bool = False
    rule: bool = False


@dataclass(frozen=True)
class Ask:
    """A run that a person asks for.

    Args:
        role: What it does; a decision is about the first increment that it can be about.
        start: Of a backfill's interval, as a minute of the history.
        end: The minute that is no part of it any more.
        dry: Whether a backfill only says what would come of it.
        steps: How many of its four steps it comes to now; `Resume` goes on with it.
        strict: Whether its gate first expects what nothing holds.
        crash: Whether it is first killed when the journal has it, and no target.
    """

    role: Asked
    start: int = 0
    end: int = 60
    dry: bool = False
    steps: int = 4
    strict: bool = False
    crash: bool = False


@dataclass(frozen=True)
class Resume:
    """All runs that were left alone go on."""


@dataclass(frozen=True)
class Clear:
    """A task that ran is run again, of whatever run: by its place among all of them."""

    which: int


Wished = Edit | Ask | Resume | Clear
