"""Every error a user meets: what is wrong, the data that proves it, and what to do next.

Terminal errors need a person; `TransientError` and its subclasses may be retried by Airflow.
An error carries its data as attributes, so that reports, tests and notifiers never parse prose.

The retry policy is in six places:
- how often and when: `airflow.retries` and `retry_delay` (`spec/spec.py`), which every task gets in
  `tidemill_airflow/dags/tasks.py`;
- which of our errors: `TransientError`, in this file;
- which errors of Spark: `engine/spark_errors.py`;
- which unforeseen errors: `Unforeseen` in `steps/parts/run.py`, `JvmGone` in `toolchain/jvm.py`;
- which failures came a second time, and are terminal then: `steps/parts/last_failure.py`;
- what Airflow makes of a report: `tidemill_airflow/operators/outcome.py`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """The exit codes of steps and of the `tidemill` command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    HELD = 3
    REFUSED = 4


class TidemillError(Exception):
    """Base of all our errors.

    Args:
        what: One sentence that names the spec's field or the file.
        remedy: What the reader does next, with the command where there is one.
        remedy_in_airflow: The same for who reads it in Airflow, where that differs.
        **data: The facts, kept as attributes and in `data`.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED
    transient = False

    def __init__(
        self, what: str, *, remedy: str, remedy_in_airflow: str | None = None, **data: Any
    ) -> None:
        self.what = escaped(what)
        self.remedy = escaped(remedy)
        self.remedy_in_airflow = remedy_in_airflow and escaped(remedy_in_airflow)
        super().__init__(self.what)
        self.data = data
        for name, value in data.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # Only reached for names that were not given: keeps `error.path` typed for mypy.
        raise AttributeError(name)

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}"

    @property
    def code(self) -> str:
        """The stable name of the error: that of its class."""
        return type(self).__name__

    def as_dict(self) -> dict[str, Any]:
        """The error as plain data for a run report."""
        there = {"remedy_in_airflow": self.remedy_in_airflow} if self.remedy_in_airflow else {}
        return {
            "code": self.code,
            "what": self.what,
            "remedy": self.remedy,
            **there,
            "transient": self.transient,
            "exit_code": int(self.exit_code),
            "data": {name: _plain(value) for name, value in self.data.items()},
        }


class UsageError(TidemillError):
    """The command or its environment is wrong."""

    exit_code = ExitCode.USAGE


class SpecError(UsageError):
    """A spec does not load; carries `path`, `line` and `field`.

    Attributes:
        further: What else is wrong with the same spec.
    """

    further: tuple[SpecError, ...] = ()


class Refused(TidemillError):
    """Going on would lose or double rows, so nothing was started."""

    exit_code = ExitCode.REFUSED


class Held(TidemillError):
    """The gate holds an increment; a person decides."""

    exit_code = ExitCode.HELD


class TransientError(TidemillError):
    """Nothing is wrong with data or spec: the same step may work when tried again.

    Args:
        if_again: The remedy once a second try has failed in the same way. None for an outage and
            the like, which a later try may pass however often it came.
    """

    transient = True

    def __init__(self, what: str, *, remedy: str, if_again: str | None = None, **data: Any) -> None:
        super().__init__(what, remedy=remedy, **data)
        self.if_again = if_again

    def came_again(self) -> None:
        """A second try has failed in the same way: from here on the error needs a person."""
        if self.if_again is not None:
            self.transient = False
            self.what += " The try before failed in the same way, so another one would too."
            self.remedy = escaped(self.if_again)


class LeaseHeld(TransientError):
    """Another live process writes to this pipeline; carries `holder` and `epoch`."""


class LeaseLost(TransientError):
    """A newer epoch has fenced this process out; carries `epoch` and `newer`."""


def escaped(text: str) -> str:
    """A text with `\\udcff` for each byte that is not UTF-8, so that it can be written and read."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, (int, float, bool, type(None))):
        return value
    if isinstance(value, dict):
        return {escaped(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return escaped(str(value))
