"""The JVM that this process started: where its lines go, and why it ended.

In a task of Airflow its lines belong into the task's log. A person at a terminal gets a sentence,
and the lines are kept in a file. A process has one JVM at most, and so one of each of these.
"""

import re
from pathlib import Path
from subprocess import Popen, TimeoutExpired

from tidemill.contract.errors import TransientError

# The connection breaks a moment before the system says that the process has ended.
PATIENCE_SECONDS = 5.0
_OUT_OF_MEMORY = re.compile(rb"java\.lang\.OutOfMemoryError(?:: [^\r\n]*)?")
_TAIL_BYTES = 1 << 16
_GOES_ON = "The next run goes on from what is committed."
_LESS = "or take less at once: maxBytesPerTrigger."
_REASONS = {
    9: (
        "it was killed (SIGKILL), as the system does where memory runs out",
        f"See dmesg, or the container's limit: give it more memory, Spark less of it "
        f"(spark.driver.memory), {_LESS} {_GOES_ON}",
    ),
    15: ("somebody ended it (SIGTERM)", _GOES_ON),
    6: ("it crashed (SIGABRT)", f"Its log names a file hs_err_pid*.log. {_GOES_ON}"),
    11: ("it crashed (SIGSEGV)", f"Its log names a file hs_err_pid*.log. {_GOES_ON}"),
}

_log: Path | None = None
_process: Popen[bytes] | None = None


class JvmGone(TransientError):
    """The JVM of a step did not start, or ended before the step did; carries `exit` and `log`."""


def keep_log(path: Path | None) -> None:
    """Send what the next JVM of this process writes into a file, which is appended to.

    Args:
        path: The file; None for wherever this process writes.
    """
    global _log
    _log = path


def log_file() -> Path | None:
    """Where the JVM's lines go; None where they go where those of this process go."""
    return _log


def started(process: Popen[bytes]) -> None:
    """Remember the JVM of this process."""
    global _process
    _process = process


def is_running() -> bool:
    """Whether this process has a JVM that it started with its output in a file."""
    return _process is not None and _process.poll() is None


def has_ended(patience: float = 0) -> bool:
    """Whether the JVM of this process was started and is gone.

    Args:
        patience: Seconds to wait for its end.
    """
    if _process is None:
        return False
    try:
        _process.wait(patience)
    except TimeoutExpired:
        return False
    return True


def jvm_gone(said: str = "") -> JvmGone:
    """The error of a JVM that ended, with the likely reason.

    Args:
        said: How it was noticed, for a JVM that this process did not start.
    """
    code = None if _process is None else _process.poll()
    why, remedy = _why(code, _tail(), said)
    kept = "" if _log is None else f" Its log is {_log}."
    return JvmGone(
        f"Spark's JVM ended under this step: {why}.",
        remedy=f"{remedy}{kept}",
        if_again="Change what it has before the next run: give spark.conf more "
        "spark.driver.memory, or less where the system killed it (dmesg); or take less at once: "
        f"maxBytesPerTrigger. Nothing that is committed is lost.{kept}",
        exit=code,
        log=_log,
    )


def not_started() -> JvmGone:
    """The error of a JVM that never answered, with its last words."""
    lines = [line.strip() for line in _tail().decode("utf-8", "replace").splitlines()]
    last = next((line for line in reversed(lines) if line), "it said nothing")
    return JvmGone(
        f"Spark's JVM did not start: {last}",
        remedy=f"Its log is {_log}. Where it names a host: this machine's name has to resolve, or "
        "set SPARK_LOCAL_IP=127.0.0.1. Then run the same again.",
        exit=None,
        log=_log,
    )


def _why(code: int | None, tail: bytes, said: str) -> tuple[str, str]:
    if found := _OUT_OF_MEMORY.findall(tail):
        what = found[-1].decode("utf-8", "replace")
        return what, f"Give spark.conf more spark.driver.memory, {_LESS} {_GOES_ON}"
    if code is None:
        return said or "the reason is not known", (
            "Its last lines say why. Where they say OutOfMemoryError, or the system killed it "
            f"(dmesg), give spark.conf more or less spark.driver.memory, {_LESS} {_GOES_ON}"
        )
    # A shell says 128 more than the signal's number.
    number = -code if code < 0 else code - 128
    return _REASONS.get(number, (f"it ended with exit code {code}", _GOES_ON))


def _tail() -> bytes:
    try:
        content = b"" if _log is None else _log.read_bytes()
    except OSError:
        return b""
    return content[-_TAIL_BYTES:]
