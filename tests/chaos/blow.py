"""What faults did in a campaign, one line each and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.chaos.aim import Aim
from tests.chaos.ended import Ended

POWER = ("power", "power-names")
KILLS = ("kill", "tear", "kill-after", *POWER)


@dataclass(frozen=True)
class Blow:
    """What a fault did to one pipeline.

    Args:
        seed: The seed of the history.
        number: The fault within the history, from 1.
        process: The step whose process was hit, with `JVM` or `Python` where only one of two was.
        fault: The name of the fault.
        point: Where the pipeline was.
        call: The call that was hit, with a path below the root.
        came_of_it: What became of a process that was stopped and continued.
    """

    seed: int
    number: int
    process: str
    pipeline: str
    mode: str
    fault: str
    point: str
    aim: Aim | None = None
    call: str = ""
    came_of_it: str = ""

    @property
    def is_kill(self) -> bool:
        return self.fault in KILLS

    def __str__(self) -> str:
        aim = f" ({self.aim})" if self.aim is not None else ""
        return (
            f"seed {self.seed}, fault {self.number}: {self.fault} in {self.process} of "
            f"{self.pipeline} at {self.point}{aim}; {self.call}"
            + (f"; {self.came_of_it}" if self.came_of_it else "")
        )


@dataclass
class HistoryEnded(Ended):
    """What came of a history of runs.

    Attributes:
        blows: Each pipeline that each fault hit.
        repairs: Error -> how often the command that it names was typed.
    """

    blows: list[Blow] = field(default_factory=list)
    repairs: Counter[str] = field(default_factory=Counter)

    @property
    def kills(self) -> int:
        """The pipelines that were killed, each as often as it was."""
        return sum(blow.is_kill for blow in self.blows)


def summary(histories: Iterable[HistoryEnded]) -> Iterator[str]:
    """Lines that count the faults of some histories."""
    every = [*histories]
    blows = [blow for history in every for blow in history.blows]
    kills = [blow for blow in blows if blow.is_kill]
    processes = {(blow.seed, blow.number, blow.process) for blow in kills}
    cuts = [blow for blow in blows if blow.fault in POWER]
    stops = [blow for blow in blows if blow.fault == "stop"]
    repairs = sum((history.repairs for history in every), Counter[str]())
    looks = sum((history.looks for history in every), Counter[str]())
    yield f"{len(kills)} pipeline kills in {len(every)} histories"
    yield f"  processes of ten, or ten processes, at a time: {len(processes)}"
    yield _counted("by process", (blow.process for blow in kills))
    yield _counted("by point, ingest", (b.point for b in kills if b.process.startswith("ingest")))
    yield _counted("by point, other steps", (b.point for b in kills if b.process[0] not in "i"))
    yield _counted("power cuts, by process", (blow.process for blow in cuts))
    yield _counted("repairs by the command that a refusal names", repairs.elements())
    yield _counted("stopped and succeeded, by process", (blow.process for blow in stops))
    yield _counted("what came of them", (blow.came_of_it for blow in stops))
    yield _counted("by mode", (blow.mode for blow in kills))
    yield _counted("other faults", (blow.fault for blow in blows if not blow.is_kill))
    yield _counted("looks of the reader", looks.elements())
    yield f"  aimed at a call that never came: {sum(history.missed for history in every)}"
    yield f"  wrong: {sum(len(history.problems) for history in every)}"


def _counted(title: str, values: Iterable[str]) -> str:
    counts = sorted(Counter(values).items())
    return f"  {title}: " + ", ".join(f"{value} {number}" for value, number in counts)
