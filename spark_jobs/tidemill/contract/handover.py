"""Reports of steps that ran in the process of another task, for their own tasks to take over.

Such a task ends as its report says, and starts nothing. A report is taken over once: a task that is
tried again or cleared runs its step itself, as it does where it finds nothing to take over.
"""

from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from tidemill.contract import report as reports
from tidemill.contract.report import Report, Step


def offer(run_folder: Path, step: Step) -> None:
    """Offer the report that a step has left to the step's own task.

    Args:
        run_folder: `Layout.run(run_id)`.
    """
    # Without the offer the task runs the step itself, so that it need not outlive a power cut.
    with suppress(OSError):
        _path(run_folder, step).write_text(_hash(run_folder, step))


def withdraw(run_folder: Path, steps: Iterable[Step]) -> None:
    """Withdraw what was offered and not taken over.

    Args:
        run_folder: `Layout.run(run_id)`.
    """
    for step in steps:
        _path(run_folder, step).unlink(missing_ok=True)


def take_over(run_folder: Path, step: Step) -> Report | None:
    """The report that was offered; None where the task is to run the step itself.

    Args:
        run_folder: `Layout.run(run_id)`.
    """
    try:
        offered = _path(run_folder, step).read_text()
        _path(run_folder, step).unlink()
        # A later try of the step may have replaced it.
        is_it = offered == _hash(run_folder, step)
    except OSError:
        return None
    return reports.read(run_folder, step) if is_it else None


def _hash(run_folder: Path, step: Step) -> str:
    return sha256(reports.path_of(run_folder, step).read_bytes()).hexdigest()


def _path(run_folder: Path, step: Step) -> Path:
    return run_folder / f"{step}.offered"
