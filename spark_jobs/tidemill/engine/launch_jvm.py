"""Starts the JVM: with its output in a file for a person at a terminal, and with its secrets."""

import logging
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger

from tidemill.engine.spark_internals.masters import verify_let_in
from tidemill.toolchain import jvm

# PySpark logs an error with its whole plan, and then raises it with the same text.
REPEATS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def launch_jvm(
    conf: Mapping[str, str], secrets: Mapping[str, str], log: Path | None, conn_id: str | None
) -> None:
    """Start the JVM of this process and its Spark context.

    Args:
        conf: Spark's settings, which its command line shows.
        secrets: Those that no command line may show.
        log: Where what it writes is appended; None for wherever this process writes.
        conn_id: The connection that names the master; None for this machine.

    Raises:
        JvmGone: it did not start.
        DriverRefused: the master does not let the driver in.
    """
    settings = SparkConf()
    settings.setAll([*conf.items()])
    gateway = _gateway(settings) if log is None else _logged(settings, log)
    if conn_id is not None:
        verify_let_in(gateway.jvm, secrets, conn_id)
    settings.setAll([*secrets.items()])
    SparkContext(conf=settings, gateway=gateway)


def _gateway(settings: SparkConf, popen: Mapping[str, Any] | None = None) -> Any:
    return launch_gateway(settings, popen)  # type: ignore[no-untyped-call]


def _logged(settings: SparkConf, log: Path) -> Any:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as lines:
        try:
            gateway = _gateway(settings, {"stdout": lines, "stderr": lines})
        except PySparkRuntimeError as error:
            raise jvm.not_started() from error
    jvm.started(gateway.proc)
    # Py4J logs a lost connection with a stack trace for each thread.
    logging.getLogger().addHandler(logging.FileHandler(log))
    return gateway


@contextmanager
def own_signals() -> Iterator[None]:
    """Keep this process's handler of Ctrl-C; Spark's own cancels every job first, within a call."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        # Only the main thread handles signals, and Spark sets its own in no other one either.
        with suppress(ValueError):
            signal.signal(signal.SIGINT, before)


def say_errors_once() -> None:
    """Keep PySpark from logging the errors that it raises."""
    for name in REPEATS:
        PySparkLogger.getLogger(name).disabled = True
