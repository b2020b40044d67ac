"""Turns a step's report into the task's state in Airflow: success, skipped, retry or failed."""

from pathlib import Path
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from tidemill.contract import report as reports
from tidemill.contract.errors import ExitCode, TidemillError
from tidemill.contract.remedy import for_airflow
from tidemill.contract.report import Outcome, Report, Step
from tidemill_airflow.operators import metrics

# A step that could not even load its spec, or not write to its root, leaves no report, and would
# do no better when tried again.
_TERMINAL_EXITS = frozenset({ExitCode.USAGE, ExitCode.REFUSED})


class ReportWatch:
    """Tells the report of this try from one that an earlier try of the same run left.

    Args:
        run_folder: `Layout.run(run_id)`.
    """

    def __init__(self, run_folder: Path, step: Step) -> None:
        self.path = reports.path_of(run_folder, step)
        self.run_folder = run_folder
        self.step = step
        self._before = self._identity()

    def report(self) -> Report | None:
        """The report that was written since, or None."""
        if self._identity() in (None, self._before):
            return None
        return reports.read(self.run_folder, self.step)

    def _identity(self) -> tuple[int, int] | None:
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns


def conclude(step: Step, report: Report | None, exit_code: int | None) -> dict[str, Any]:
    """End the task as the report says, and send its metrics.

    Args:
        report: What it left, or None where it left nothing.
        exit_code: The exit code of its process; None where it is unknown.

    Returns:
        What the task pushes as its result.

    Raises:
        AirflowSkipException: nothing to do, or the increment waits its turn.
        AirflowFailException: a person is needed; Airflow does not retry.
        AirflowException: the same may work when tried again; Airflow retries.
    """
    if report is None:
        how = "" if exit_code is None else f" (exit code {exit_code})"
        if exit_code in _TERMINAL_EXITS:
            raise AirflowFailException(f"{step} could not start{how}; its last lines say why.")
        raise AirflowException(f"{step} ended without a report{how}: it was killed or crashed.")
    metrics.send(report)
    match report.outcome:
        case Outcome.DONE:
            return {"outcome": str(report.outcome), "reason": report.reason}
        case Outcome.SKIPPED | Outcome.WAITING:
            raise AirflowSkipException(report.reason)
        case _ if report.transient:
            raise AirflowException(_sentence(report))
        case _:
            raise AirflowFailException(_sentence(report))


def as_airflow(error: TidemillError) -> AirflowException:
    """An error of ours, met in the task process itself, as one of Airflow's."""
    text = f"{error.code}: {error.what} {for_airflow(error.as_dict())}"
    if error.transient:
        return AirflowException(text)
    return AirflowFailException(text)


def _sentence(report: Report) -> str:
    if report.error is None:
        return report.reason
    return f"{report.error['code']}: {report.reason} {for_airflow(report.error)}"
