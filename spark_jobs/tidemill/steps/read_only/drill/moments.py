"""The moments at which a drill kills: at writes, and between them, of every step that it can."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tidemill.contract.report import Step

# In the order in which they get kills: the most is written by the first.
WRITING: tuple[Step, ...] = ("ingest", "publish", "gate", "doctor")
STEPS: tuple[Step, ...] = ("doctor", "ingest", "gate", "publish")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Write:
    """A file that appeared in the pipeline's folder.

    Args:
        path: Relative to the folder.
        seconds: Since the step's process began.
    """

    path: str
    seconds: float

    @property
    def kind(self) -> str:
        """The path without ids and numbers: other runs write other ones."""
        return kind_of(self.path)


@dataclass(frozen=True)
class Moment:
    """A moment of a step, such that another run of the same pipeline comes to it too.

    Args:
        kind: What is written there; empty for the begin of the process.
        count: How many files of this kind the folder then holds.
        delay: Seconds after that write.
    """

    step: Step
    kind: str = ""
    count: int = 0
    delay: float = 0.0


@dataclass(frozen=True)
class Watched:
    """What a step without a kill wrote.

    Args:
        writes: In the order in which they appeared.
        seconds: How long it took.
        before: Kind -> the files of it that were there when it began.
    """

    writes: tuple[Write, ...]
    seconds: float
    before: Mapping[str, int]


def kind_of(path: str) -> str:
    """The kind of a file by its path, such as `journal/#.json`."""
    return _NUMBER.sub("#", _UUID.sub("*", path))


def is_draft(path: str) -> bool:
    """Whether a file is a temporary one, a checksum, or only shows that a process lives."""
    name = PurePath(path).name
    return name.startswith(".") or name.endswith((".tmp", ".beat", ".log"))


def choose_moments(watched: Mapping[Step, Watched], kills: int, seed: int) -> list[Moment]:
    """Moments to kill at, in the order of the run; the same for the same run and seed.

    Steps take turns. Half of a step's kills are right at a write, the others some time after one.

    Args:
        watched: What each step wrote in a run without kills.
    """
    chance = random.Random(seed)  # noqa: S311 - kills, no secrets
    turns = [step for step in WRITING if step in watched]
    shares = Counter(turns[number % len(turns)] for number in range(kills))
    found: list[Moment] = []
    for step in STEPS:
        if shares[step]:
            found += _within(step, watched[step], shares[step], chance)
    return found


def _within(step: Step, watched: Watched, kills: int, chance: random.Random) -> list[Moment]:
    writes = [write for write in watched.writes if not is_draft(write.path)]
    # Without writes to aim at, and beyond their number: somewhere.
    chosen = sorted(chance.sample(range(len(writes)), min(kills, len(writes))))
    anywhere = sorted(chance.uniform(0, watched.seconds) for _ in range(kills - len(chosen)))
    found = [Moment(step, delay=seconds) for seconds in anywhere]
    first = chance.randrange(2)
    for turn, place in enumerate(chosen):
        delay = 0.0
        if (first + turn) % 2:
            delay = chance.uniform(0, _pause_after(writes, place, watched.seconds))
        found.append(_moment(step, watched, writes, place, delay))
    return found


def _moment(
    step: Step, watched: Watched, writes: Sequence[Write], place: int, delay: float
) -> Moment:
    kind = writes[place].kind
    earlier = sum(write.kind == kind for write in writes[: place + 1])
    return Moment(step, kind, watched.before.get(kind, 0) + earlier, delay)


def _pause_after(writes: Sequence[Write], place: int, end: float) -> float:
    following = writes[place + 1].seconds if place + 1 < len(writes) else end
    return max(following - writes[place].seconds, 0.0)
