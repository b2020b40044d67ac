"""A run in processes of its own: once without a kill, once with kills and a retry after each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tidemill.contract.errors import TidemillError
from tidemill.contract.log import Log
from tidemill.contract.report import Step
from tidemill.steps.read_only.drill.moments import STEPS, Moment, Watched
from tidemill.steps.read_only.drill.watched_process import Ended, run_watched
from tidemill.storage.folders import walk


class QuietRunFailed(TidemillError):
    """The copy's run does not end well although it is not killed; carries `step` and `folder`."""


class RetryFailed(TidemillError):
    """A step was killed, and its retry needs a person; carries `step`, `exit_code`, `folder`."""


@dataclass(frozen=True)
class Kill:
    """A kill of a step.

    Args:
        seconds: Since the step's process began.
        at: The last file that it had written, relative to the pipeline's folder.
        files: The files in that folder.
        batches: The batches that the ledger had recorded.
        increments: The increments that were sealed.
        events: The events in the journal.
        done: Whether it was killed; a process may end before the chosen moment comes.
    """

    number: int
    seed: int
    step: Step
    seconds: float
    at: str
    files: int
    batches: int
    increments: int
    events: int
    done: bool

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class StepProcesses:
    """How the steps of one run are started.

    Args:
        home: The pipeline's folder, which they write.
        command: Gives the command of a step.
        logs: A folder for what they print.
    """

    home: Path
    command: Callable[[Step], Sequence[str]]
    environ: Mapping[str, str]
    logs: Path

    def run(self, step: Step, moment: Moment | None = None) -> tuple[Ended, Path]:
        """Run one step; returns how it ended, and what it printed."""
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{len([*self.logs.glob('*.log')]) + 1:02d}-{step}.log"
        return run_watched(self.command(step), self.home, log, self.environ, moment), log


def run_quietly(processes: StepProcesses, tell: Log) -> dict[Step, Watched]:
    """Run the steps in order without a kill; what each of them wrote.

    Args:
        tell: Gets a line for each step.

    Raises:
        QuietRunFailed: a step ends otherwise than done.
    """
    found: dict[Step, Watched] = {}
    for step in STEPS:
        ended, log = processes.run(step)
        if ended.exit_code:
            raise QuietRunFailed(
                f"Without any kill, {step} of the copy ends with exit code {ended.exit_code}: "
                f"{_last_line(log)}",
                remedy=f"Let the pipeline run through first; the output is in {log.parent}.",
                step=step,
                folder=str(log.parent),
            )
        found[step] = ended.watched
        tell(f"without kills: {step} done in {ended.watched.seconds:.1f} s")
    return found


def run_with_kills(
    processes: StepProcesses, moments: Sequence[Moment], seed: int, tell: Callable[[Kill], object]
) -> list[Kill]:
    """Run the steps in order; each is killed at its moments, and started again without any repair.

    Args:
        moments: In the order of the run.
        tell: Gets each kill as it is done.

    Raises:
        RetryFailed: a step that is not killed ends otherwise than done.
    """
    kills: list[Kill] = []
    for step in STEPS:
        due = [moment for moment in moments if moment.step == step]
        for moment in (*due, None):
            ended, log = processes.run(step, moment)
            if ended.exit_code:
                raise RetryFailed(
                    f"After {len(kills)} kills, {step} ends with exit code {ended.exit_code}: "
                    f"{_last_line(log)}",
                    remedy=f"Send {log.parent} to whoever maintains Tidemill, with this seed.",
                    step=step,
                    exit_code=ended.exit_code,
                    seed=seed,
                    folder=str(log.parent),
                )
            if moment is None:
                continue
            kills.append(_kill(len(kills) + 1, seed, step, ended, processes.home))
            tell(kills[-1])
    return kills


def _kill(number: int, seed: int, step: Step, ended: Ended, home: Path) -> Kill:
    return Kill(
        number=number,
        seed=seed,
        step=step,
        seconds=round(ended.watched.seconds, 2),
        at=ended.at,
        files=sum(len(names) for _, _, names in walk(home)),
        batches=sum(path.stem.isdecimal() for path in home.glob("ledger/*/*.json")),
        increments=len([*home.glob("increments/*/sealed.json")]),
        events=sum(path.stem.isdecimal() for path in home.glob("journal/*.json")),
        done=ended.exit_code is None,
    )


def _last_line(log: Path) -> str:
    """The last line that a process printed, or wrote to standard error if it printed nothing."""
    texts = (path.read_text(errors="replace").strip() for path in (log, log.with_suffix(".err")))
    return next((text.splitlines()[-1] for text in texts if text), "it printed nothing")
