"""The processes of steps, as a history starts them and learns how they ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.chaos.aim import Aim
from tests.faults.library import FAULTS, Fault, built
from tidemill.contract.project import REPOSITORY


@dataclass(frozen=True)
class Order:
    """A process that is to be started.

    Args:
        step: A step, or `backfill` for the ingest of runs that ask for one.
        pipelines: Several for an ingest or a backfill.
        aim: What is to happen to it.
    """

    step: str
    pipelines: tuple[str, ...]
    run_id: str
    aim: Aim | None = None


@dataclass(frozen=True)
class StepEnded:
    """How a process ended.

    Args:
        code: Its exit code; -9 if it was killed.
        hit: The call that was aimed at, with a path relative to the root; None if it never came.
    """

    order: Order
    code: int
    hit: str | None

    @property
    def harmed(self) -> bool:
        """Whether the fault came: a kill after a last call comes too late."""
        if self.hit is None or self.order.aim is None:
            return False
        return self.order.aim.fault is not Fault.KILL_AFTER or self.code != 0


class StepProcesses:
    """Starts processes by a server that forks them; in a `with` statement it is up.

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
        """Run processes, some at the same time; returns how they ended, in the orders' order."""
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
            ended[order] = StepEnded(order, answer["code"], self._hit(number))
        return [ended[order] for order in orders]

    def output(self, lines: int = 40) -> str:
        """The end of what the last process printed."""
        log = self.home / f"{self._number:04d}.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])

    def end_left(self) -> None:
        """Kill what processes have left behind, such as the JVM of a killed Python."""
        for pid in self._pids:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        self._pids.clear()

    def _ask(self, order: Order) -> int:
        self._number += 1
        number = self._number
        environ = order.aim.environ(self.root) if order.aim else {}
        environ["FAULTS_REPORT"] = str(self.home / f"{number:04d}.hit")
        asked = {
            "number": number,
            "step": order.step,
            "pipelines": order.pipelines,
            "run_id": order.run_id,
            "environ": environ,
            "log": str(self.home / f"{number:04d}.log"),
        }
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        return number

    def _answer(self) -> dict[str, object]:
        assert self._server.stdout is not None
        answer: dict[str, object] = json.loads(self._server.stdout.readline())
        return answer

    def _hit(self, number: int) -> str | None:
        report = self.home / f"{number:04d}.hit"
        if not report.exists():
            return None
        said = report.read_text(errors="replace").splitlines()
        return said[0].replace(f"{self.root}/", "") if said else None
