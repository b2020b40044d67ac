"""Where a fault hits a process: at a point of Spark's protocol, at a write of ours, or anywhere."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.library import Fault

JVM, PYTHON = "bin/java", "python"


@dataclass(frozen=True)
class Aim:
    """A fault at a call.

    Args:
        point: The name of the point, such as `K3`.
        pattern: The calls that count, by name and path below the root.
        call: Which of them is hit, from 1.
        program: The process whose calls count.
        group: Whether a kill ends the processes of the group, or that process alone.
        seconds: By how much a clock is set back.
    """

    point: str
    fault: Fault
    pattern: str
    call: int
    program: str = PYTHON
    group: bool = True
    seconds: int = 0

    def environ(self, root: Path) -> dict[str, str]:
        """The variables by which the library is armed, beside the folder."""
        _, which, number = self.fault.value
        name, path = self.pattern.split(" ", 1)
        return {
            "FAULTS_PATTERN": f"{name} {root}/{path}",
            "FAULTS_CALL": str(self.call),
            "FAULTS_FAULT": str(which),
            "FAULTS_ERROR": str(self.seconds or number),
            "FAULTS_PROGRAM": self.program,
            "FAULTS_GROUP": str(int(self.group)),
        }

    def __str__(self) -> str:
        who = "" if self.group else (" of the JVM" if self.program == JVM else " of Python")
        far = f" by {self.seconds} s" if self.seconds else ""
        return f"{self.point}: {self.fault.title}{far}{who} at call {self.call} of `{self.pattern}`"


@dataclass(frozen=True)
class Spot:
    """Calls at which a fault may be aimed.

    Args:
        fault: What happens there.
        most: The highest number of a call to choose.
    """

    fault: Fault
    pattern: str
    program: str = JVM
    most: int = 2


# The twelve points of Spark's protocol; {} is the pipeline.
POINTS: Mapping[str, Sequence[Spot]] = {
    "K1": (Spot(Fault.KILL, "open {}/checkpoints/*/offsets/.*.tmp"),),
    "K2": (Spot(Fault.TEAR, "write {}/checkpoints/*/offsets/.*.tmp"),),
    "K3": (Spot(Fault.KILL_AFTER, "rename {}/checkpoints/*/offsets/[0-9]*"),),
    "K4": (Spot(Fault.TEAR, "write {}/table/_live-*.parquet"),),
    "K5": (
        Spot(Fault.KILL, "open {}/table/_live-*/_spark_metadata/.*.tmp"),
        Spot(Fault.KILL, "open {}/table/_live-*/batch=*/_SUCCESS"),
        Spot(Fault.KILL, "link {}/table/_live-*/batch=*/_manifest.json", PYTHON),
    ),
    "K6": (
        Spot(Fault.TEAR, "write {}/table/_live-*/_spark_metadata/.*.tmp"),
        Spot(Fault.TEAR, "write {}/table/_live-*/batch=*/.*draft", PYTHON),
    ),
    "K7": (Spot(Fault.KILL, "open {}/checkpoints/*/commits/.*.tmp"),),
    "K8": (Spot(Fault.TEAR, "write {}/checkpoints/*/commits/.*.tmp"),),
    "K9": (
        Spot(Fault.KILL_AFTER, "rename {}/checkpoints/*/commits/[0-9]*"),
        Spot(Fault.KILL, "link {}/ledger/*", PYTHON),
    ),
    "K10": (
        Spot(Fault.KILL, "* {}/runs/*/ingest.json", PYTHON, 1),
        Spot(Fault.KILL_AFTER, "* {}/runs/*/ingest.json", PYTHON, 1),
    ),
    "K11": (
        Spot(Fault.TEAR, "write {}/*/.*.compact.*.tmp", most=1),
        Spot(Fault.KILL_AFTER, "rename {}/*/[0-9]*.compact", most=1),
    ),
    "K12": (
        Spot(Fault.KILL_AFTER, "unlink {}/checkpoints/*/[0-9]*", most=6),
        Spot(Fault.KILL_AFTER, "unlink {}/table/_live-*/_spark_metadata/[0-9]*", most=3),
    ),
}
# What steps other than ingest write that others rely on.
OWN_WRITES: Mapping[str, Sequence[str]] = {
    "doctor": ("link {}/*", "rename {}/*"),
    "gate": ("link {}/increments/*", "link {}/runs/*", "rename {}/*"),
    "publish": (
        "link {}/journal/*",
        "link* {}/table/_delta_log/*",
        "link* {}/rejected/_delta_log/*",
        "link {}/*",
    ),
    "backfill": ("link {}/increments/*", "link {}/runs/*", "rename {}/table/*"),
}
# Faults of the disk beside kills.
DISK = (Fault.FULL, Fault.FULL_ONCE, Fault.BROKEN, Fault.READ_ONLY)
# About as many calls as a process makes below the root, or below one pipeline.
CALLS = {"ingest": 2500, "backfill": 900, "doctor": 20, "gate": 45, "publish": 90}


def at_point(chance: random.Random, point: str, pipeline: str) -> Aim:
    """A kill of a group's Spark application at a point of one pipeline."""
    spot = chance.choice(POINTS[point])
    pattern = spot.pattern.format(pipeline)
    # One in four leaves the rest of the group alone for a moment.
    group = chance.random() < 0.75
    return Aim(point, spot.fault, pattern, chance.randint(1, spot.most), spot.program, group)


def anywhere_in_group(chance: random.Random, step: str) -> Aim:
    """A kill of a Spark application at any call of any pipeline."""
    program = JVM if chance.random() < 0.7 else PYTHON
    most = CALLS[step] if program == JVM else CALLS[step] // 3
    group = chance.random() < 0.6
    fault = chance.choice((Fault.KILL, Fault.TEAR))
    return Aim("random", fault, "* *", chance.randint(1, most), program, group)


def in_step(chance: random.Random, step: str, pipeline: str) -> Aim:
    """A kill of the process of one pipeline's step."""
    fault = chance.choice((Fault.KILL, Fault.TEAR, Fault.KILL_AFTER))
    if chance.random() < 0.5:
        pattern = chance.choice(OWN_WRITES[step]).format(pipeline)
        return Aim("write", fault, pattern, chance.randint(1, 3))
    return Aim("random", fault, f"* {pipeline}/*", chance.randint(1, CALLS[step]))


def on_disk(chance: random.Random, step: str, pipeline: str) -> Aim:
    """A disk that fails the process of a step from a call on, or once."""
    program = JVM if step in ("ingest", "backfill") and chance.random() < 0.7 else PYTHON
    fault = chance.choice(DISK)
    most = CALLS[step] // (10 if step in ("ingest", "backfill") else 1)
    return Aim("disk", fault, f"* {pipeline}/*", chance.randint(1, most), program)
