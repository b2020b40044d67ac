"""One case with a fault at one call: the fault, a reader, the step twice, and what was wrong."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.case import Case, Seen, look, place_of
from tests.faults.library import Fault, armed
from tests.faults.power import cut_power
from tests.faults.processes import Killed, forked
from tests.support.histories.history_builder import History
from tidemill.contract.report import Outcome, Report
from tidemill.storage.disk_errors import DiskFull, named


@dataclass
class Unharmed:
    """How a case goes without a fault.

    Args:
        calls: The name and path of each call that changes something.
        rest: What a case compares besides what consumers see.
    """

    calls: Sequence[str]
    rest: Any


@dataclass
class Point:
    """What came of a fault.

    Args:
        call: The name and path of the call that was hit; None if it was never reached.
        ended: How the step ended: `killed`, an outcome, or the name of an error.
        problems: What was wrong, in sentences; none if all is well.
    """

    call: str | None
    ended: str
    problems: list[str] = field(default_factory=list)


class Stage:
    """A folder in which a case is played again and again.

    Spark's logs have absolute paths, so every play is at the same place.
    """

    # What only counts the calls.
    count: Any = Fault.COUNT

    def __init__(self, home: Path, case: Case) -> None:
        self.case = case
        self.home = home / "home"
        self.start = home / "start"
        for place, copy in self.places().items():
            shutil.rmtree(place, ignore_errors=True)
            shutil.rmtree(copy, ignore_errors=True)
        forked(lambda: case.build(self.open()) and None)
        for place, copy in self.places().items():
            shutil.copytree(place, copy, symlinks=True)
        _import_here(forked(self._imported))
        self._restore()
        self.unharmed = self._unharmed()

    # -- where it is played -------------------------------------------------------------------

    def open(self) -> History:
        """The pipeline."""
        return self.case.open(self.home)

    def places(self) -> dict[Path, Path]:
        """Each folder that a play changes -> its copy from before."""
        return {self.home: self.start}

    def armed(self, call: int, fault: Any, report: int) -> AbstractContextManager[Any]:
        """Let a call go wrong while the block runs; `report` gets the names of calls."""
        return armed(self.home, call, fault, report)

    def calls_of(self, report: int) -> list[str]:
        """The calls of the last block."""
        return _said(report)

    def between_the_steps(self) -> None:
        """What happens between the two steps without a fault."""

    def play(self, call: int, fault: Any) -> Point:
        """Let a call go wrong, and tell what came of it."""
        self._restore()
        point = self._harm(call, fault)
        if point.call is None:
            return point
        between = forked(self._look)
        after = forked(self._twice)
        problems = [
            self._problem_between(point, between),
            _misnamed(point, fault),
            *self._problems_after(after),
        ]
        point.problems = [problem for problem in problems if problem]
        return point

    # -- the parts of a play, each in a process of its own ----------------------------------

    def _imported(self) -> list[str]:
        """The modules that a whole play needs."""
        self._twice()
        return [*sys.modules]

    def _unharmed(self) -> Unharmed:
        report = os.memfd_create("calls")

        def step() -> Any:
            history = self.open()
            with self.armed(0, self.count, report):
                ended = _ended(self.case.step(history))
            return [ended, self.case.rest(history)]

        before = self._problem(forked(self._look), "before the step")
        ended, rest = forked(step)
        calls = self.calls_of(report)
        after = self._problem(forked(self._look), "after the unharmed step", last=True)
        if before or after or ended["error"]:
            raise AssertionError(f"without a fault: {ended}; {before}; {after}")
        return Unharmed(calls, rest)

    def _harm(self, call: int, fault: Any) -> Point:
        report = os.memfd_create("call")

        def step() -> Any:
            history = self.open()
            with self.armed(call, fault, report):
                try:
                    return _ended(self.case.step(history))
                except Exception as error:  # noqa: BLE001 - it is what is asked about
                    # As the command line does with what no step has named.
                    name = type(named(error, self.home) or error).__name__
                    return {"outcome": "failed", "error": name}

        try:
            ended = forked(step)
        except Killed:
            ended = {"outcome": "killed", "error": None}
        said = self.calls_of(report)
        if fault in (Fault.POWER, Fault.POWER_NAMES):
            if ended["outcome"] != "killed":
                return Point(None, ended["outcome"])
            *done, hit = said
            cut_power(self.home, self.start, done, names=fault is Fault.POWER_NAMES)
            said = [hit]
        name = said[0].replace(f"{self.home}/", "") if said else None
        return Point(name, ended["error"] or ended["outcome"])

    def _look(self) -> Any:
        return asdict(look(self.open()))

    def _twice(self) -> Any:
        history = self.open()
        said: list[Any] = []
        for number in range(2):
            if number:
                self.between_the_steps()
            try:
                ended = _ended(self.case.step(history))
            except Exception as error:  # noqa: BLE001 - it is what is asked about
                ended = {"outcome": "failed", "error": f"{type(error).__name__}: {error}"}
            said.append([ended, asdict(look(history))])
        return [*said, self.case.rest(history)]

    def _restore(self) -> None:
        for place, copy in self.places().items():
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(copy, place, symlinks=True)

    # -- what is wrong with it ----------------------------------------------------------------

    def _problem(self, seen: dict[str, Any], when: str, *, last: bool = False) -> str | None:
        """That a look is not one of the states, or not the last one."""
        states = self.case.states
        place = place_of(Seen(**seen), states)
        if place is None:
            return f"{when}, a reader saw what never was: {seen}"
        if last and asdict(_settled(states[-1], seen)) != seen:
            return f"{when}, a reader saw {seen}, state {place}, and not the last: {states[-1]}"
        return None

    def _problem_between(self, point: Point, seen: dict[str, Any]) -> str | None:
        """A step that says it is done has done all of it."""
        return self._problem(seen, "after the fault", last=point.ended == "done")

    def _problems_after(self, after: list[Any]) -> list[Any]:
        *steps, rest = after
        problems: list[Any] = []
        for name, (ended, seen) in zip(("first", "second"), steps, strict=True):
            if ended["error"]:
                problems.append(f"the {name} step without a fault ended with {ended['error']}")
            problems.append(self._problem(seen, f"after the {name} step", last=True))
        if rest != self.unharmed.rest:
            problems.append(f"left {rest} and not {self.unharmed.rest}")
        return problems


def _misnamed(point: Point, fault: Any) -> str | None:
    """That a full disk came out as anything but itself."""
    full = fault in (Fault.FULL, Fault.FULL_ONCE)
    if full and point.ended not in (*Outcome, DiskFull.__name__):
        return f"a full disk came out as {point.ended}"
    return None


def _import_here(modules: list[str]) -> None:
    """Import once, in the parent, what every child would import for itself."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)


def _settled(state: Any, seen: dict[str, Any]) -> Seen:
    good, rejected = state
    listed = None if seen["listed"] is None else sorted(good)
    return Seen(sorted(good), sorted(rejected), listed)


def _ended(report: Report) -> dict[str, Any]:
    return {
        "outcome": str(report.outcome),
        "error": report.error["code"] if report.error else None,
    }


def _said(descriptor: int) -> list[str]:
    """The lines that a child's library wrote."""
    with os.fdopen(descriptor, "rb") as file, suppress(OSError):
        file.seek(0)
        return file.read().decode(errors="replace").splitlines()
    return []
