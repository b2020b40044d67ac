"""A failure that comes twice in the same way needs a person; one that moves on is tried again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from tests.support.histories.history_builder import History, rows
from tidemill.contract import report as reports
from tidemill.contract.errors import LeaseHeld
from tidemill.contract.report import Outcome, Report
from tidemill.engine.spark_errors import from_spark
from tidemill.steps.parts.run import Ended, perform
from tidemill.storage.run_context import RunContext

PLANNING = "Stage {}.0 failed: Stream-stream join without equality predicate is not supported"
HEAP = "Job {} aborted: java.lang.OutOfMemoryError: Java heap space at org.apache.hadoop.io.Text"


def failed(history: History, run_id: str, error: Exception) -> Report:
    def step(_: RunContext) -> Ended:
        raise error

    return perform("ingest", step, history.run(run_id))


def spark_said(text: str) -> Exception:
    return from_spark(PySparkException(text))


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("QueryInterrupted", lambda n: spark_said(PLANNING.format(n))),
        ("OutOfMemory", lambda n: spark_said(HEAP.format(n))),
        ("JvmGone", lambda _: Py4JNetworkError("Answer is empty")),
    ],
)
def test_the_second_failure_of_the_same_kind_at_the_same_batch_is_not_tried_again(
    tmp_path: Path, code: str, failure: Callable[[int], Exception]
) -> None:
    history = History(tmp_path)
    history.batch(rows(1))

    reports = [failed(history, f"r{n}", failure(n)) for n in (1, 2)]

    assert [one.error and one.error["code"] for one in reports] == [code, code]
    assert [one.transient for one in reports] == [True, False]
    remedies = [one.error["remedy"] for one in reports if one.error]
    assert remedies[0] != remedies[1]


def test_a_failure_after_another_batch_comes_for_the_first_time(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.batch(rows(1))
    failed(history, "r1", spark_said("Executor lost"))
    history.batch(rows(2))
    history.ledger.complete()
    assert failed(history, "r2", spark_said("Executor lost")).transient


def test_a_failure_of_another_kind_comes_for_the_first_time(tmp_path: Path) -> None:
    history = History(tmp_path)
    failed(history, "r1", spark_said("Executor lost"))
    assert failed(history, "r2", spark_said("Shuffle block lost")).transient


def test_a_success_between_two_failures_makes_the_second_a_first_one(tmp_path: Path) -> None:
    history = History(tmp_path)
    failed(history, "r1", spark_said("Executor lost"))
    perform("ingest", lambda _: Ended(Outcome.DONE, "0 batches"), history.run("r2"))
    assert failed(history, "r3", spark_said("Executor lost")).transient


@pytest.mark.parametrize(
    "outage",
    [
        spark_said("java.net.ConnectException: Connection refused"),
        spark_said("TimeoutException: Timed out waiting for a node assignment"),
        spark_said("Python worker failed to connect back. SocketTimeoutException"),
        LeaseHeld("Another run writes.", remedy="Wait.", holder=None, epoch=1),
    ],
)
def test_an_outage_may_be_tried_again_however_often_it_came(
    tmp_path: Path, outage: Exception
) -> None:
    history = History(tmp_path)
    assert [failed(history, f"r{n}", outage).transient for n in range(3)] == [True] * 3


def test_a_defect_that_comes_twice_is_not_tried_again(tmp_path: Path) -> None:
    history = History(tmp_path)
    for run_id in ("r1", "r2"):
        with pytest.raises(ZeroDivisionError):
            failed(history, run_id, ZeroDivisionError("by zero"))
    left = reports.read(history.layout.run("r2"), "ingest")
    assert left is not None
    assert (left.error and left.error["code"], left.transient) == ("Unforeseen", False)
