"""Starts the JVM with its output in a file, for a person at a terminal."""

import logging
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger

from tidemill.toolchain import jvm

# PySpark logs an error with its whole plan, and then raises it with the same text.
REPEATS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def launch_jvm(conf: Mapping[str, str], log: Path) -> None:
    """Start the JVM of this process and its Spark context; what it writes goes to a file.

    Raises:
        JvmGone: it did not start.
    """
    settings = SparkConf()
    settings.setAll([*conf.items()])
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as lines:
        try:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                settings, {"stdout": lines, "stderr": lines}
            )
        except PySparkRuntimeError as error:
            raise jvm.not_started() from error
    jvm.started(gateway.proc)
    # Py4J logs a lost connection with a stack trace for each thread.
    logging.getLogger().addHandler(logging.FileHandler(log))
    SparkContext(conf=settings, gateway=gateway)


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
