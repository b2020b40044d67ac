"""Folds the pipelines of one template into one row of a list, as long as none needs attention."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from tidemill.contract.counted import counted
from tidemill.reporting.standing import PipelineStanding
from tidemill.reporting.status_document import PipelineState

# In these a person has nothing to do.
CALM: tuple[PipelineState, ...] = ("waiting", "running", "never run", "fine")


@dataclass(frozen=True)
class Folded:
    """Pipelines of one template that need no attention.

    Args:
        pipelines: Two or more.
    """

    template: str
    pipelines: tuple[PipelineStanding, ...]

    @property
    def name(self) -> str:
        """Such as `settlements (198 pipelines)`."""
        return f"{self.template} ({counted(len(self.pipelines), 'pipeline')})"

    @property
    def states(self) -> dict[PipelineState, int]:
        """State -> how many are in it, for the states that there are."""
        found = Counter(one.state for one in self.pipelines)
        return {state: found[state] for state in get_args(PipelineState) if found[state]}

    @property
    def states_in_words(self) -> str:
        """Such as `2 waiting, 196 fine`."""
        return ", ".join(f"{number:,} {state}" for state, number in self.states.items())

    @property
    def rows_of_days(self) -> tuple[int, ...]:
        """The rows of all of them, a day each."""
        days = zip(*(one.rows_of_days for one in self.pipelines), strict=True)
        return tuple(sum(day) for day in days)


def fold(standings: Iterable[PipelineStanding]) -> list[PipelineStanding | Folded]:
    """A list of pipelines with one row for the calm ones of each template.

    Args:
        standings: In the order of the list; a fold stands where its first pipeline stood.
    """
    every = list(standings)
    calm: dict[str, list[PipelineStanding]] = {}
    for one in every:
        if one.template is not None and one.state in CALM and not one.decisions:
            calm.setdefault(one.template, []).append(one)
    folds = {name: Folded(name, tuple(of)) for name, of in calm.items() if len(of) > 1}
    folded = {one.pipeline: fold for fold in folds.values() for one in fold.pipelines}
    return list({id(row): row for row in (folded.get(one.pipeline, one) for one in every)}.values())
