"""Runs a step so that it always ends with a report."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tidemill.contract import report as reports
from tidemill.contract.errors import TidemillError, TransientError
from tidemill.contract.outage import is_outage
from tidemill.contract.report import Outcome, Report, Step
from tidemill.steps.parts.last_failure import forget_failure, judge_again
from tidemill.storage.disk_errors import disk_errors, named
from tidemill.storage.run_context import RunContext


@dataclass(frozen=True)
class Ended:
    """The result of a step function that raised no error.

    Args:
        outcome: How.
        reason: One sentence for the task log.
    """

    outcome: Outcome
    reason: str
    facts: dict[str, Any] = field(default_factory=dict)


StepFunction = Callable[[RunContext], Ended]


class JvmGone(TransientError):
    """The JVM of a step ended before the step did."""


class Unforeseen(TransientError):
    """An error that is not one of ours: it may be gone at the next try; carries `type`."""


def perform(step: Step, function: StepFunction, run: RunContext) -> Report:
    """Run a step function and leave its report in the run's folder.

    Errors of ours become a report, and so does what the file system refuses; anything else becomes
    one too and is raised again.

    Raises:
        DiskFull: the step is done, and its report cannot be written.
        NotPermitted: the same.
    """
    started = run.clock()
    name = run.pipeline.name
    folder = run.pipeline.layout.run(run.run_id)
    # Whether the root can be written to is for the step to say.
    with suppress(OSError):
        reports.path_of(folder, step).unlink()
    try:
        ended = function(run)
    except TidemillError as error:
        # Spark says of a full disk only that a query was interrupted.
        refused: TidemillError | None = None
        if isinstance(error, TransientError):
            refused = named(error, run.pipeline.layout.home)
        report = _report_of(refused or error, step, run, started)
    except Exception as error:
        refused = named(error, run.pipeline.layout.home) or _jvm_gone(error)
        report = _report_of(refused or _unforeseen(error, step, name), step, run, started)
        if refused is None:
            _leave(report, run)
            raise
    else:
        report = Report(
            pipeline=name,
            run_id=run.run_id,
            step=step,
            outcome=ended.outcome,
            reason=ended.reason,
            started=started,
            finished=run.clock(),
            facts=ended.facts,
        )
        forget_failure(step, run)
    _leave(report, run)
    return report


def _report_of(error: TidemillError, step: Step, run: RunContext, started: datetime) -> Report:
    """The report of a failed step; an error that the try before met as well is terminal."""
    judge_again(error, step, run)
    return reports.of_error(
        error,
        pipeline=run.pipeline.name,
        run_id=run.run_id,
        step=step,
        started=started,
        finished=run.clock(),
    )


def _leave(report: Report, run: RunContext) -> None:
    layout = run.pipeline.layout
    if not layout.root.is_dir():
        # Made here, a root whose disk is not mounted would look like one to the next run.
        return
    try:
        with disk_errors(layout.run(run.run_id)):
            reports.write(report, layout.run(run.run_id))
    except (OSError, TidemillError):
        # The root cannot be written to: then the exit code and the log are all there is.
        if report.error is None:
            raise


def _jvm_gone(error: BaseException | None) -> JvmGone | None:
    """Py4J's error when the JVM no longer answers, also where a later error hides it."""
    while error is not None:
        if type(error).__name__ == "Py4JNetworkError":
            return JvmGone(
                f"Spark's JVM ended under this step: {error}.",
                remedy="Its last lines say why. Where they say OutOfMemoryError, or the system "
                "killed it (dmesg), give spark.conf more or less spark.driver.memory, or take "
                "less at once: maxBytesPerTrigger. The next try carries on from what is committed.",
                if_again="Change what it has before the next run: give spark.conf more "
                "spark.driver.memory, or less where the system killed it (dmesg); or take less at "
                "once: maxBytesPerTrigger. Nothing that is committed is lost.",
            )
        error = error.__cause__ or error.__context__
    return None


def _unforeseen(error: Exception, step: Step, name: str) -> Unforeseen:
    kind = type(error).__name__
    again = "change of the spec, the transform, the suite or the input file avoids it."
    if step == "gate":
        again += (
            f" `tidemill redo {name} --reason TEXT` then computes the increment again. To go on "
            f"without it, reject it by its number, which `tidemill status {name}` shows."
        )
    return Unforeseen(
        f"{kind}: {error}",
        remedy="The log has the stack trace; if it comes again, report it as a defect.",
        if_again=None
        if isinstance(error, OSError) or is_outage(f"{kind}: {error}")
        else "Report it as a defect, with the stack trace in the log. Until then see whether a "
        f"{again}",
        type=kind,
    )
