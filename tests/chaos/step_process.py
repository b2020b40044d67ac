"""The processes of steps, as a history starts them and learns how they ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.chaos.aim import Aim
from tests.faults.library import FAULTS, Fault, built
from tidemill.contract.project import REPOSITORY

# Steps whose process serves all pipelines.
GROUP_STEPS = ("ingest", "backfill")


@dataclass(frozen=True)
class Order:
    """A process that is to be started.

    Args:
        step: A step, or `backfill` for the ingest of runs that ask for one.
        pipelines: Several for an ingest or a backfill.
        aim: What is to happen to it.
        elsewhere: Whether it says that it is on another host.
        command: The words of a `tidemill` command that runs instead of a step.
    """

    step: str
    pipelines: tuple[str, ...]
    run_id: str
    aim: Aim | None = None
    elsewhere: bool = False
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepEnded:
    """How a process ended.

    Args:
        code: Its exit code; -9 if it was killed, None while it is stopped.
        hit: The call that was aimed at, with a path relative to the root; None if it never came.
        number: The number of the process, from 1.
        pid: It leads its process group.
    """

    order: Order
    code: int | None
    hit: str | None
    number: int
    pid: int

    @property
    def names(self) -> tuple[str, ...]:
        """Its pipelines."""
        return self.order.pipelines

    @property
    def harmed(self) -> bool:
        """Whether the fault came: a kill after a last call comes too late."""
        if self.hit is None or self.order.aim is None:
            return False
        return self.order.aim.fault is not Fault.KILL_AFTER or self.code != 0


class StepProcesses:
    """Starts processes by a server that forks them; in a `with` statement it is up.

    Attributes:
        record: Gets every call of the processes that changes something below the root.
        seconds_back: How far behind the clock of the processes is.

    Args:
        home: Gets the processes' output.
        root: `TIDEMILL_ROOT`.
        environ: The variables that all of them have.
        at_once: How many may run at the same time.
    """

    def __init__(
        self, home: Path, root: Path, environ: Mapping[str, str], at_once: int = 3
    ) -> None:
        self.home = home
        self.root = root
        self.at_once = at_once
        self.record: Path | None = None
        self.seconds_back = 0
        self._number = 0
        self._pids: set[int] = set()
        library = {"LD_PRELOAD": str(built(FAULTS))}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.fork_server"],
            cwd=REPOSITORY,
            env={**os.environ, **environ, **library},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        assert self._answer() == {"ready": True}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, trace: TracebackType | None
    ) -> None:
        self._server.kill()
        self._server.wait()
        self.end_left()

    def run(self, orders: Sequence[Order]) -> list[StepEnded]:
        """Run processes, some at the same time, until each has ended or is stopped.

        Returns:
            How they ended, in the orders' order.
        """
        waiting, running = [*orders], dict[int, Order]()
        ended: dict[Order, StepEnded] = {}
        while waiting or running:
            while waiting and len(running) < self.at_once:
                order = waiting.pop(0)
                running[self._ask(order)] = order
            answer = self._answer()
            number = answer["number"]
            order = running.pop(number)
            self._pids.add(answer["pid"])
            ended[order] = StepEnded(
                order, answer["code"], self._hit(number), number, answer["pid"]
            )
        return [ended[order] for order in orders]

    def wake(self, stopped: StepEnded) -> StepEnded:
        """Continue a process that was stopped, and wait until it has ended."""
        os.killpg(stopped.pid, signal.SIGCONT)
        answer = self._answer()
        assert answer["number"] == stopped.number
        return replace(stopped, code=answer["code"])

    def said(self, ended: StepEnded) -> str:
        """What a process printed."""
        return self._log(ended.number).read_text(errors="replace")

    def output(self, lines: int = 40) -> str:
        """The end of what the last process printed."""
        text = self._log(self._number).read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def end_left(self) -> None:
        """Kill what processes have left behind, such as the JVM of a killed Python."""
        for pid in self._pids:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        self._pids.clear()

    def _ask(self, order: Order) -> int:
        self._number += 1
        number = self._number
        environ = {"FAULTS_FOLDER": str(self.root), "FAULTS_CLOCK": str(self.seconds_back)}
        if self.record is not None:
            environ["FAULTS_RECORD"] = str(self.record)
        if order.aim is not None:
            environ |= order.aim.environ(self.root)
        environ["FAULTS_REPORT"] = str(self.home / f"{number:04d}.hit")
        asked = {
            "number": number,
            "step": order.step,
            "pipelines": order.pipelines,
            "run_id": order.run_id,
            "elsewhere": order.elsewhere,
            "command": order.command,
            "environ": environ,
            "log": str(self._log(number)),
        }
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        return number

    def _log(self, number: int) -> Path:
        return self.home / f"{number:04d}.log"

    def _answer(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer

    def _hit(self, number: int) -> str | None:
        report = self.home / f"{number:04d}.hit"
        if not report.exists():
            return None
        said = report.read_text(errors="replace").splitlines()
        return said[0].replace(f"{self.root}/", "") if said else None
