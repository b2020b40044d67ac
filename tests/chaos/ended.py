"""What the reader found wrong in a history, of whichever campaign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Ended:
    """What came of a history.

    Attributes:
        missed: How many faults were aimed at what never came.
        problems: What was wrong, in sentences.
        looks: Kind -> how often the reader has looked at something new.
    """

    seed: int
    missed: int = 0
    problems: list[str] = field(default_factory=list)
    looks: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add_look(self, found: Mapping[str, Any], when: str, tell: Callable[[str], object]) -> None:
        """Note what the reader has found.

        Args:
            found: The fields of its `Found`.
            when: Where in the history that is.
            tell: Gets a line for each new problem.
        """
        self.looks = Counter(found["looks"])
        for stray in found["strays"]:
            self.add_problem(stray, when, tell)

    def add_problem(self, problem: str, when: str, tell: Callable[[str], object]) -> None:
        """Note something wrong, and tell it the first time."""
        if problem not in self.problems:
            self.problems.append(problem)
            tell(f"seed {self.seed}, {when}: WRONG: {problem}")
