"""One history of a campaign: ten pipelines run, are killed and hurt, and run on, by a seed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.chaos import aim as aims
from tests.chaos.aim import Aim
from tests.chaos.blow import Blow, HistoryEnded
from tests.chaos.broker_absences import BROKER, BrokerAbsences
from tests.chaos.campaign_pipelines import INPUT, deliver, pipelines
from tests.chaos.clock_changes import ClockChanges
from tests.chaos.left_point import DONE, IDLE, left_point
from tests.chaos.paused_hosts import PausedHosts
from tests.chaos.power_cuts import PowerCuts
from tests.chaos.reader_process import reading
from tests.chaos.step_process import GROUP_STEPS, Order, StepEnded, StepProcesses
from tests.faults.library import Fault
from tests.servers.kafka import Broker
from tests.servers.postgres import Postgres
from tidemill.contract import report as reports
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.run_request import RunRequest, fix_request

# How often a step is tried again after a transient error, as Airflow's retries do.
RETRIES = 3
# How many times a step of a run is hurt before it may end: one of these.
TIMES = {
    "doctor": (0, 1, 1),
    "ingest": (1, 1, 2),
    "backfill": (0, 1, 1),
    "gate": (2, 3),
    "publish": (2, 3),
}
ROUNDS = 4
# Kinds of blows that a run may have beside kills: each has its own chances of a seed.
OTHERS: dict[str, type[PowerCuts | PausedHosts | ClockChanges]] = {
    "power": PowerCuts,
    "hosts": PausedHosts,
    "clock": ClockChanges,
}
KINDS = ("kill", *OTHERS, BROKER)
# What a refusal may ask for after a power cut.
REPAIR = "tidemill checkpoint repair"
# The partition of all input.
DAY = {"day": "2026-03-01"}


class CampaignHistory:
    """Ten pipelines in a folder of their own, with a reader; in a `with` statement they are up.

    Every choice is a function of the seed and of what it is for, so that a history that is played
    again meets the same faults, whatever came of the earlier ones.

    Args:
        home: Gets `project/`, `input/`, `root/` and `output/`.
        tell: Gets a line for each pipeline that a fault hits.
        postgres: A server; None leaves databases out.
        kinds: Those of the blows, from `KINDS`.
        broker: A server that one pipeline reads a topic of; None: it reads the folder, too.
    """

    def __init__(
        self,
        home: Path,
        seed: int,
        tell: Callable[[str], object],
        postgres: Postgres | None = None,
        kinds: Collection[str] = KINDS,
        broker: Broker | None = None,
    ) -> None:
        self.home = home
        self.tell = tell
        self.postgres = postgres
        self.ended = HistoryEnded(seed)
        self._topic = None if broker is None else BrokerAbsences(self, broker)
        topic = self._topic and self._topic.name
        self.pipelines = pipelines(database=postgres is not None, topic=topic)
        self.input, self.root = home / "input", home / "root"
        self._stack = ExitStack()
        self.faults = self._runs = self._files = 0
        self.run_id = ""
        self.power_failed = False
        self._kills = "kill" in kinds
        self._others = [kind(self) for name, kind in OTHERS.items() if name in kinds]
        if self._topic is not None and BROKER in kinds:
            self._others.append(self._topic)
        self._backfill = False
        for folder in (self.input, self.root, home / "output"):
            folder.mkdir(parents=True)
        for one in self.pipelines:
            one.write(home / "project")

    def __enter__(self) -> Self:
        dsn, connection = [], {}
        if self.postgres is not None:
            database = self.postgres.fresh_database()
            dsn = [self.postgres.dsn(database)]
            connection = {"AIRFLOW_CONN_WAREHOUSE": _connection(self.postgres, database)}
        if self._topic is not None:
            connection |= self._topic.connection
        environ = {
            "TIDEMILL_ROOT": str(self.root),
            "TIDEMILL_PROJECTS": str(self.home / "project"),
            "TIDEMILL_MASTER": "local[2]",
            INPUT: str(self.input),
            **connection,
        }
        processes = StepProcesses(self.home / "output", self.root, environ)
        self.processes = self._stack.enter_context(processes)
        self.reader = self._stack.enter_context(reading(self.root, self.input, dsn))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def play(self, kills: int | None = None, rounds: int = ROUNDS) -> HistoryEnded:
        """Play rounds of runs with faults, and one without, which must bring everything out.

        Args:
            kills: Stop after the step in which so many pipelines were killed; None for never.
        """
        began, self._kills_left = time.monotonic(), kills
        for number in range(rounds):
            if not self._goes_on():
                break
            self._live_run()
            if number % 2 and self._goes_on():
                self._backfill_run()
        self._kills_left = 0
        if not self.ended.problems:
            self._live_run()
            self._compare()
        self.ended.seconds = time.monotonic() - began
        return self.ended

    # -- runs -----------------------------------------------------------------------------------

    def _live_run(self) -> None:
        self._new_run()
        for _ in range(self.chance("files").randint(2, 4)):
            deliver(self.input, self._files)
            if self._topic is not None:
                self._topic.deliver(self._files)
            self._files += 1
        self._run("doctor", "ingest", "gate", "publish")

    def _backfill_run(self) -> None:
        self._new_run(backfill=True)
        request = RunRequest(role="backfill", partitions=(DAY,), by="chaos", reason="a drill")
        for name in self.names():
            fix_request(self.layout(name).run(self.run_id), request)
        self._run("doctor", "backfill", "gate", "publish")

    def _new_run(self, *, backfill: bool = False) -> None:
        self._runs += 1
        self.run_id = f"run-{self._runs:03d}"
        self._backfill = backfill

    def _goes_on(self) -> bool:
        left = self._kills_left
        return not self.ended.problems and (left is None or self.ended.kills < left)

    def _run(self, *steps: str) -> None:
        for other in self._others:
            if self._goes_on():
                other.begin_run(steps)
        for step in steps:
            if not self.ended.problems:
                self._step(step)
        for other in self._others:
            other.end_run()
        self.look()

    def _step(self, step: str) -> None:
        """A step that is hurt as often as the seed says, and then ends well."""
        times = self.chance(step).choice(TIMES[step]) if self._kills else 0
        for time_ in range(times):
            due = self.due(step)
            if due and self._goes_on():
                self._hurt(step, due, time_)
                self.look()
        if step == "publish" and times and self.chance("database").random() < 0.4:
            self._take_database_away()
        for other in self._others:
            if self._goes_on():
                other.hurt(step)
                self.look()
        if not self.ended.problems:
            self.end_well(step)
        if step == "publish" and not self.ended.problems:
            self.reader.settle()

    # -- faults ---------------------------------------------------------------------------------

    def _hurt(self, step: str, due: Sequence[str], time_: int) -> None:
        """One fault of a group's application, or one of each pipeline's process."""
        self.faults += 1
        since = time.time()
        if step in GROUP_STEPS:
            aim = self.choose_aim(step, time_, *due)
            (ended,) = self.processes.run([Order(step, tuple(due), self.run_id, aim)])
            found = [(name, ended) for name in due]
        else:
            orders = [
                Order(step, (name,), self.run_id, self.choose_aim(step, time_, name))
                for name in due
            ]
            found = [*zip(due, self.processes.run(orders), strict=True)]
        if not any(ended.harmed for _, ended in found):
            self.ended.missed += 1
        for name, ended in found:
            blow = self.blow(step, name, ended, since) if ended.harmed else None
            if blow is not None and blow.point not in (DONE, IDLE):
                self.count(blow)

    def choose_aim(self, step: str, time_: int, *due: str) -> Aim:
        """The fault of a step's process in the current run, as the seed says.

        Args:
            time_: How often the step was hurt in this run before.
            due: The pipelines that the process works for.
        """
        if step not in GROUP_STEPS:
            return self._own_aim(step, due[0], self.chance(step, time_, due[0]))
        chance = self.chance(step, time_)
        preferred = chance.sample(self.names(), len(self.names()))
        name = next(name for name in preferred if name in due)
        if chance.random() < 0.1:
            return aims.on_disk(chance, step, name)
        if step == "backfill" or chance.random() < 0.5:
            return aims.anywhere_in_group(chance, step)
        # The first run has nothing to compact or to delete; later ones do so in few of their calls.
        points = [*aims.POINTS][:10] if self._runs == 1 else [*aims.POINTS, "K11", "K12"]
        return aims.at_point(chance, chance.choice(points), name)

    def _own_aim(self, step: str, name: str, chance: random.Random) -> Aim:
        if chance.random() < 0.1:
            return aims.on_disk(chance, step, name)
        return aims.in_step(chance, step, name)

    def count(self, blow: Blow) -> None:
        """Keep what a fault did to a pipeline, and tell it."""
        self.ended.blows.append(blow)
        self.tell(str(blow))

    def count_as(
        self,
        step: str,
        name: str,
        point: str,
        fault: Fault,
        ended: StepEnded | None,
        came_of_it: str = "",
    ) -> None:
        """Count a blow of another kind than a kill."""
        aim = ended.order.aim if ended else None
        call = (ended.hit if ended else None) or ""
        mode = self._modes()[name]
        self.count(
            Blow(
                self.ended.seed,
                self.faults,
                step,
                name,
                mode,
                fault.title,
                point,
                aim,
                call,
                came_of_it,
            )
        )

    def blow(self, step: str, name: str, ended: StepEnded, since: float) -> Blow:
        """What a fault did to a pipeline.

        Args:
            since: When the process was started, as files' times are.
        """
        aim = ended.order.aim
        assert aim is not None
        assert ended.hit is not None
        process, point = step, aim.point
        if step in GROUP_STEPS and not aim.group:
            process = f"{step}, {'JVM' if aim.program == aims.JVM else 'Python'} only"
        aimed = point in aims.POINTS and f" {name}/" in ended.hit
        if step in GROUP_STEPS and not aimed:
            point = left_point(self.layout(name), since, self.run_id)
            if step == "backfill" and point not in (DONE, IDLE):
                point = "random"
        return Blow(
            self.ended.seed,
            self.faults,
            process,
            name,
            self._modes()[name],
            aim.fault.title,
            point,
            aim,
            ended.hit,
        )

    def _take_database_away(self) -> None:
        """Kill the database's server, let publishes meet its absence, and start it again."""
        names = [one.name for one in self.pipelines if "postgres" in one.targets]
        due = [name for name in names if name in self.due("publish")]
        if self.postgres is None or not due:
            return
        self.faults += 1
        self.postgres.kill()
        try:
            self.processes.run([Order("publish", (name,), self.run_id) for name in due])
        finally:
            self.postgres.start()
        for name in due:
            if not self._well(self._report("publish", name)):
                blow = Blow(
                    self.ended.seed,
                    self.faults,
                    "publish",
                    name,
                    self._modes()[name],
                    "database away",
                    "random",
                )
                self.count(blow)
        self.refuse_refusals("publish", due)

    # -- what must hold ---------------------------------------------------------------------------

    def end_well(self, step: str) -> None:
        """A step without a fault, tried again after a transient error, or after a repair."""
        for _ in range(RETRIES):
            due = self.due(step)
            if not due:
                return
            together = [Order(step, due, self.run_id)]
            alone = [Order(step, (name,), self.run_id) for name in due]
            self.processes.run(together if step in GROUP_STEPS else alone)
            self._repair(step, due)
            self.refuse_refusals(step, due)
            if self.ended.problems:
                return
        for name in self.due(step):
            report = self._report(step, name)
            error = report and report.error
            self._problem(
                f"{step} of {name} in {self.run_id} fails {RETRIES} times: {error}; it printed "
                f"{self.processes.output()}"
            )

    def _repair(self, step: str, names: Sequence[str]) -> None:
        """Type the command that a refusal names, where the power has failed."""
        for name in names if self.power_failed else ():
            report = self._report(step, name)
            error = report.error if report is not None else None
            if error is None or f"{REPAIR} {name}" not in (error["remedy"] or ""):
                continue
            words = (*REPAIR.split()[1:], name, "--yes")
            order = Order("repair", (name,), self.run_id, command=words)
            (ended,) = self.processes.run([order])
            self.tell(
                f"seed {self.ended.seed}: {error['code']} of {name}: tidemill {' '.join(words)}"
            )
            self.ended.repairs[error["code"]] += 1
            if ended.code:
                self._problem(f"{' '.join(words)} failed: {self.processes.said(ended)}")
            (self.layout(name).run(self.run_id) / f"{_task(step)}.json").unlink()

    def refuse_refusals(self, step: str, names: Sequence[str]) -> None:
        """After a fault of a campaign no step may ask for a person."""
        for name in names:
            report = self._report(step, name)
            if report is None or self._well(report):
                continue
            if report.error is None or not report.error["transient"]:
                self._problem(
                    f"{step} of {name} in {self.run_id} was {report.outcome}: {report.reason} "
                    f"{report.error}"
                )

    def _compare(self) -> None:
        """All input is everywhere."""
        found = self.look()
        for name in found["in_swap"]:
            self._problem(f"rejected {name} has the rows of before a backfill beside its own")
        prefixes = found["prefixes"]
        for one in self.pipelines:
            kinds = [
                "table",
                "rejected",
                *(
                    {"files": "lists", "postgres": "database"}[target]
                    for target in one.targets
                    if target != "delta"
                ),
            ]
            for kind in kinds:
                length = prefixes.get(f"{kind} {one.name}", 0)
                if length != self._files:
                    self._problem(f"{kind} {one.name} has {length} of {self._files} files")

    def look(self) -> dict[str, Any]:
        found = self.reader.look()
        self.ended.add_look(found, self._when, self.tell)
        return found

    def _problem(self, problem: str) -> None:
        self.ended.add_problem(problem, self._when, self.tell)

    @property
    def _when(self) -> str:
        return f"after fault {self.faults}"

    # -- facts ------------------------------------------------------------------------------------

    def chance(self, *purpose: object) -> random.Random:
        return random.Random(f"{self.ended.seed} {self.run_id} {purpose}")

    def layout(self, name: str) -> Layout:
        return Layout(self.root, name)

    def _modes(self) -> dict[str, str]:
        return {one.name: one.mode for one in self.pipelines}

    def names(self) -> tuple[str, ...]:
        """The pipelines of the current run; a backfill is of those that append."""
        return tuple(
            one.name for one in self.pipelines if not self._backfill or one.mode == "append"
        )

    def due(self, step: str) -> tuple[str, ...]:
        """The pipelines whose step has not ended well in the current run."""
        return tuple(name for name in self.names() if not self._well(self._report(step, name)))

    def _report(self, step: str, name: str) -> Report | None:
        return reports.read(self.layout(name).run(self.run_id), _task(step))  # type: ignore[arg-type]

    def _well(self, report: Report | None) -> bool:
        return report is not None and report.outcome in (Outcome.DONE, Outcome.SKIPPED)


def _task(step: str) -> str:
    return "ingest" if step == "backfill" else step


def _connection(postgres: Postgres, database: str) -> str:
    return json.dumps(
        {
            "conn_type": "postgres",
            "host": postgres.host,
            "port": postgres.port,
            "login": postgres.user,
            "password": postgres.password,
            "schema": database,
        }
    )
