"""A change of a pipeline since its generation was created, and its consequences.

The verdicts are those of Spark's Structured Streaming guide, "Recovery Semantics after Changes in a
Streaming Query". Allowed there means that the query goes on; whether rows of before and after then
mean the same is said here too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import Refused
from tidemill.contract.pipeline_class import PipelineClass


class Verdict(StrEnum):
    """Whether a generation may continue after a change."""

    ALLOWED = "allowed"
    CONSEQUENCES = "allowed with consequences"
    NOT_ALLOWED = "not allowed"


class Change(FrozenModel):
    """One thing that is not as it was.

    Attributes:
        field: The field of the spec, or `transform` with the part of its plan.
        was: When the generation was born; None where it was not there.
        now: Today; None where it is gone.
        verdict: Whether the generation may go on.
        means: What that means.
        remedy: What to do, with the command.
    """

    field: str
    was: Any
    now: Any
    verdict: Verdict
    means: str
    remedy: str

    @property
    def sentence(self) -> str:
        """The changes, with their consequences."""
        was = "was not there" if self.was is None else f"was {self.was}"
        now = "is gone" if self.now is None else f"is {self.now}"
        return f"{self.field} {was} and {now}: {self.means}"


class QueryChanged(Refused):
    """A change with which the generation cannot go on; carries `field` and `changes`, all such."""


@dataclass(frozen=True)
class Judge:
    """Gives the verdicts on one generation.

    Args:
        pipeline: Its pipeline's name, for the commands.
        pipeline_class: By which rows that were published can be computed again.
        published: Whether there are any; a sink of Spark's own gives nothing back.
    """

    pipeline: str
    pipeline_class: PipelineClass
    published: bool = True

    @property
    def keeps_state(self) -> bool:
        return self.pipeline_class is not PipelineClass.MAP

    def allowed(self, field: str, was: Any, now: Any, means: str) -> Change:
        """A change that makes no difference to any row."""
        return self._change(field, was, now, Verdict.ALLOWED, means, "Nothing needs to be done.")

    def consequences(
        self, field: str, was: Any, now: Any, means: str, remedy: str | None = None
    ) -> Change:
        """A change after which rows mean something else than before."""
        return self._change(field, was, now, Verdict.CONSEQUENCES, means, remedy or self.again)

    def not_allowed(
        self, field: str, was: Any, now: Any, means: str, instead: str = "change it back"
    ) -> Change:
        """A change that needs a new generation.

        Args:
            was: When the generation was born.
            now: Today.
            means: What would come of it.
            instead: What else can be done.
        """
        restart = f"start over: tidemill rebuild {self.pipeline} --reason TEXT"
        if not self.published:
            restart = "start over under another pipeline name"
        remedy = f"{instead[0].upper()}{instead[1:]}, or {restart}"
        return self._change(field, was, now, Verdict.NOT_ALLOWED, means, remedy)

    @property
    def again(self) -> str:
        """How to recompute earlier rows with today's code."""
        if not self.published:
            return "Nothing, if so meant"
        held = f"For what is not published yet: tidemill redo {self.pipeline} --reason TEXT; "
        if self.pipeline_class is PipelineClass.UNBOUNDED:
            return f"{held}for what is: tidemill rebuild {self.pipeline} --reason TEXT"
        return (
            f"{held}for days that are: tidemill backfill {self.pipeline} --from DAY --to DAY; "
            "for the partitions of rejected rows, where rules are looser now: "
            f"tidemill replay {self.pipeline}; "
            f"for everything: tidemill rebuild {self.pipeline} --reason TEXT"
        )

    @staticmethod
    def _change(
        field: str, was: Any, now: Any, verdict: Verdict, means: str, remedy: str
    ) -> Change:
        return Change(field=field, was=was, now=now, verdict=verdict, means=means, remedy=remedy)


def not_allowed(changes: Sequence[Change]) -> list[Change]:
    """The changes with which the generation cannot continue."""
    return [change for change in changes if change.verdict is Verdict.NOT_ALLOWED]


def refuse(changes: Sequence[Change], generation: str, spec_file: Path) -> None:
    """Refuse to go on with a generation after changes of which one is not allowed.

    Args:
        changes: All since its birth.

    Raises:
        QueryChanged: one is not.
    """
    found = not_allowed(changes)
    if not found:
        return
    more = f" ({len(found)} such changes since {generation} was born)" if len(found) > 1 else ""
    raise QueryChanged(
        f"{spec_file}: {found[0].sentence}{more}.",
        remedy=f"{found[0].remedy}.",
        field=found[0].field,
        generation=generation,
        changes=[change.model_dump(mode="json") for change in found],
    )
