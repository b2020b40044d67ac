"""The result of probing a source for new input, without a JVM."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.sources.due import Due
from tidemill.spec.sources.base import Rating


@dataclass(frozen=True)
class Problem:
    """Something that Spark would pass over without a word.

    Args:
        rating: What the spec says to do about it.
        error: Raised where the rating is `hold`, said where it is `warn`.
    """

    rating: Rating
    error: Refused


@dataclass(frozen=True)
class ProbeResult:
    """A source as it is now, against what the ledger says was read of it.

    Args:
        new: What the next run will read, in `unit`s; None where only a query can tell.
        unit: Such as `files`.
        backlog_bytes: The backlog bytes of what is new; None where unknown.
        last_arrival: When the newest of it arrived; None where nothing ever did.
        oldest_new: When the oldest of what is new arrived; None where nothing is, or unknown.
        problems: In the order of their weight.
        follows: What is due because of it, and a run computes again of its own accord.
        still_there: The files that were read and that a query would list again -> when they were
            modified then, in milliseconds since the epoch.
    """

    source: str
    new: int | None
    unit: str
    backlog_bytes: int | None = None
    last_arrival: datetime | None = None
    oldest_new: datetime | None = None
    problems: tuple[Problem, ...] = ()
    follows: Due | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    still_there: Mapping[Path, int] = field(default_factory=dict)

    def units(self, number: int, kind: str = "") -> str:
        """A number of its units, such as `1 file` and, of the kind `new `, `2 new files`."""
        return counted(number, kind + self.unit.removesuffix("s"))

    @property
    def passes_over_loss(self) -> bool:
        """Whether the next query has to pass over input that is gone, as a person accepted."""
        return False

    @property
    def held(self) -> Refused | None:
        """The error of the first problem that the spec rates `hold`; None where there is none."""
        return first_held(self.problems)

    def as_dict(self) -> dict[str, Any]:
        """For a step's report."""
        arrival = self.last_arrival.isoformat() if self.last_arrival else None
        problems = [
            {"code": p.error.code, "rating": str(p.rating), "what": p.error.what}
            for p in self.problems
        ]
        oldest = self.oldest_new.isoformat() if self.oldest_new else None
        return {
            "new": self.new,
            "unit": self.unit,
            "bytes": self.backlog_bytes,
            "oldest_new": oldest,
            "last_arrival": arrival,
            "problems": problems,
        } | self.facts


def first_held(problems: Iterable[Problem]) -> Refused | None:
    """The error of the first problem that the spec rates `hold`; None where there is none."""
    return next((problem.error for problem in problems if problem.rating is Rating.HOLD), None)


def refuse_held(problems: Iterable[Problem]) -> None:
    """Stop at the first problem that the spec rates `hold`.

    Raises:
        Refused: that problem's error.
    """
    error = first_held(problems)
    if error is not None:
        raise error
