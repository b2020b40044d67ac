"""Runs a step so that it always ends with a report."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tidemill.contract import report as reports
from tidemill.contract.errors import TidemillError, TransientError
from tidemill.contract.objects.root_connection import root_unreachable
from tidemill.contract.outage import is_outage
from tidemill.contract.report import Outcome, Report, Step
from tidemill.reporting.standing import HistoryRead, keep_up
from tidemill.steps.parts.last_failure import forget_failure, judge_again
from tidemill.storage.disk_errors import disk_errors, named
from tidemill.storage.run_context import RunContext
from tidemill.toolchain import jvm, spark_application
from tidemill.toolchain.extras import missing_extra
from tidemill.toolchain.jvm import JvmGone


@dataclass(frozen=True)
class Ended:
    """The result of a step function that raised no error.

    Args:
        outcome: How.
        reason: One sentence for the task log.
        read: The history as the step left it, where the step has read it.
    """

    outcome: Outcome
    reason: str
    facts: dict[str, Any] = field(default_factory=dict)
    read: HistoryRead | None = field(default=None, compare=False, repr=False)


StepFunction = Callable[[RunContext], Ended]


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
    read: HistoryRead | None = None
    try:
        ended = function(run)
    except TidemillError as error:
        # Spark says of a full disk only that a query was interrupted.
        refused: TidemillError | None = None
        if isinstance(error, TransientError):
            refused = foreseen(error, run.pipeline.layout.home)
        report = _report_of(refused or error, step, run, started)
    except Exception as error:
        refused = foreseen(error, run.pipeline.layout.home)
        report = _report_of(refused or unforeseen(error, step, name), step, run, started)
        if refused is None:
            _leave(_with_application(report), run)
            _keep_up(report, run)
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
        read = ended.read
        forget_failure(step, run)
    report = _with_application(report)
    _leave(report, run)
    _keep_up(report, run, read)
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


def _with_application(report: Report) -> Report:
    return report.model_copy(update={"spark": spark_application.current()})


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


def _keep_up(report: Report, run: RunContext, read: HistoryRead | None = None) -> None:
    try:
        keep_up(run.pipeline, report, read)
    except (OSError, TidemillError) as error:
        # It only informs, and is computed again where it is missing.
        run.log(f"warning: {run.layout.status} was not written ({error})")


def foreseen(error: Exception, folder: Path) -> TidemillError | None:
    """A full disk, a silent store, a missing right or package, a lost JVM, an error of Spark's.

    Args:
        folder: Where the step writes, if the error itself does not say.

    Returns:
        None for any other error.
    """
    of_files = named(error, folder) or root_unreachable(error)
    return of_files or missing_extra(error) or _jvm_gone(error) or _of_spark(error)


def _of_spark(error: Exception) -> TidemillError | None:
    """An error of the JVM, which no part of the step has told apart."""
    if "pyspark" not in sys.modules or isinstance(error, TidemillError):
        return None
    from tidemill.engine.spark_errors import from_spark
    from tidemill.engine.spark_internals.java_errors import JVM_ERRORS

    return from_spark(error) if isinstance(error, JVM_ERRORS) else None


def _jvm_gone(error: BaseException) -> JvmGone | None:
    """The end of the JVM, where an error came of it: its connection broke, or was refused."""
    if isinstance(error, JvmGone):
        return error
    cause: BaseException | None = error
    while cause is not None:
        lost = type(cause).__name__ == "Py4JNetworkError"
        if (lost or isinstance(cause, ConnectionError)) and jvm.has_ended(jvm.PATIENCE_SECONDS):
            return jvm.jvm_gone()
        if lost:
            return jvm.jvm_gone(str(cause))
        cause = cause.__cause__ or cause.__context__
    return jvm.jvm_gone() if jvm.has_ended() else None


def unforeseen(error: Exception, step: Step | None = None, name: str = "") -> Unforeseen:
    """An error that is not one of ours, by its type.

    Args:
        step: The step that met it; None outside of a run.
        name: The pipeline's name.
    """
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
