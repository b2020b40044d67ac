"""The run report: the JSON document that a step leaves for Airflow and for people."""

import os
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError, model_validator

from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.errors import ExitCode, Held, Refused, TidemillError, escaped
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.syntax.quantities import sum_if_known

Step = Literal["doctor", "decide", "ingest", "gate", "publish"]


class Outcome(StrEnum):
    """A step's outcome."""

    DONE = "done"
    SKIPPED = "skipped"
    NEEDS_SPARK = "needs_spark"
    HELD = "held"
    WAITING = "waiting"
    REFUSED = "refused"
    FAILED = "failed"


class LostExecutor(FrozenModel):
    """An executor that ended before its application did; what it was at, others did again.

    Attributes:
        id: Spark's number of it.
        host: Host and port.
        reason: Spark's, such as `Command exited with code 137`.
        logs: `stdout` and `stderr` -> the address of the log on the worker's page.
    """

    id: str
    host: str
    reason: str
    logs: dict[str, str] = {}


class SparkApplication(FrozenModel):
    """The Spark application that a step used.

    Attributes:
        id: Spark's, such as `local-1772323200000`.
        logs_events: Whether it writes the event log that Spark's history server reads.
        lost_executors: The executors that it lost, up to the end of the step.
    """

    id: str
    logs_events: bool = False
    lost_executors: tuple[LostExecutor, ...] = ()


class Report(Document):
    """The report of a step.

    Attributes:
        run_id: Airflow's run id, or the one `tidemill run` made.
        outcome: How it ended; `waiting` is a passed increment behind a held one,
            `needs_spark` a gate that was told to start no JVM.
        reason: One sentence for the task log.
        started: UTC.
        finished: UTC.
        facts: What the step found or did, by step.
        error: `TidemillError.as_dict()` where there was one.
        spark: The Spark application of its process; None where it needed none.
    """

    pipeline: str
    run_id: str
    step: Step
    outcome: Outcome
    reason: str
    started: datetime
    finished: datetime
    facts: dict[str, Any] = {}
    error: dict[str, Any] | None = None
    spark: SparkApplication | None = None

    @model_validator(mode="before")
    @classmethod
    def _can_be_written(cls, given: Any) -> Any:
        # A file's name or an exception's text may hold bytes that no JSON can.
        return _escaped(given)

    @property
    def exit_code(self) -> ExitCode:
        if self.error is not None:
            return ExitCode(self.error["exit_code"])
        return {
            Outcome.HELD: ExitCode.HELD,
            Outcome.WAITING: ExitCode.HELD,
            Outcome.REFUSED: ExitCode.REFUSED,
            Outcome.FAILED: ExitCode.FAILED,
        }.get(self.outcome, ExitCode.DONE)

    @property
    def transient(self) -> bool:
        return bool(self.error and self.error["transient"])


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list | tuple) else value


def path_of(run_folder: Path, step: Step) -> Path:
    return run_folder / f"{step}.json"


def write(report: Report, run_folder: Path) -> Path:
    """Put the report in place whole; a later try of the same step replaces it."""
    run_folder.mkdir(parents=True, exist_ok=True)
    target = path_of(run_folder, report.step)
    if isinstance(target, ObjectPath):
        target.write_text(report.content())
        return target
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    with draft.open("w", encoding="utf-8") as file:
        file.write(report.content())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(target)
    return target


def read(run_folder: Path, step: Step) -> Report | None:
    """The report of a step, or None where it has not reported, or what it wrote is damaged.

    A report informs; whether rows were taken in, judged or published, the ledger alone knows.
    """
    try:
        return Report.parse(path_of(run_folder, step).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def backlog_bytes(run_folders: Iterable[Path]) -> int | None:
    """The bytes that wait to be read, as the doctors found them; None where one does not know."""
    seen = [read(folder, "doctor") for folder in run_folders]
    return sum_if_known(report.facts.get("backlog_bytes") if report else None for report in seen)


def of_error(
    error: TidemillError,
    *,
    pipeline: str,
    run_id: str,
    step: Step,
    started: datetime,
    finished: datetime,
) -> Report:
    """The report of a step that ended with an error."""
    outcome = Outcome.FAILED
    if isinstance(error, Refused):
        outcome = Outcome.REFUSED
    elif isinstance(error, Held):
        outcome = Outcome.HELD
    return Report(
        pipeline=pipeline,
        run_id=run_id,
        step=step,
        outcome=outcome,
        reason=error.what,
        started=started,
        finished=finished,
        error=error.as_dict(),
    )
