"""However a step ends, a report says so."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError

from tests.support.histories.history_builder import History, rows
from tidemill.contract import report as reports
from tidemill.contract.errors import TransientError
from tidemill.contract.report import Outcome, SparkApplication
from tidemill.steps.parts.run import Ended, perform
from tidemill.steps.publish import publish
from tidemill.storage import documents
from tidemill.storage.lease import Holder
from tidemill.storage.run_context import RunContext
from tidemill.toolchain import spark_application


def test_an_error_that_nobody_foresaw_leaves_a_report_and_is_raised(tmp_path: Path) -> None:
    run = History(tmp_path).run("r1")

    def step(_: RunContext) -> Ended:
        raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError):
        perform("gate", step, run)

    left = reports.read(run.pipeline.layout.run("r1"), "gate")
    assert left is not None
    assert (left.outcome, left.transient) == (Outcome.FAILED, True)
    assert left.error is not None
    assert left.error["data"]["type"] == "ZeroDivisionError"


def test_a_report_names_the_spark_application_also_of_a_step_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_application, "_current", None)
    run = History(tmp_path).run("r1")

    def step(_: RunContext) -> Ended:
        spark_application.remember(SparkApplication(id="local-7", logs_events=True))
        raise TransientError("It broke.", remedy="Do this.")

    assert perform("doctor", lambda _: Ended(Outcome.DONE, "fine"), run).spark is None
    perform("ingest", step, run)

    left = reports.read(run.pipeline.layout.run("r1"), "ingest")
    assert left is not None
    assert left.spark == SparkApplication(id="local-7", logs_events=True)


def test_the_report_of_an_earlier_try_does_not_outlive_a_killed_one(tmp_path: Path) -> None:
    run = History(tmp_path).run("r1")
    perform("gate", lambda _: Ended(Outcome.DONE, "passed"), run)

    def killed(_: RunContext) -> Ended:
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        perform("gate", killed, run)

    assert reports.read(run.pipeline.layout.run("r1"), "gate") is None


def test_a_missing_root_is_not_made_for_the_report(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.root.rmdir()

    report = perform("doctor", lambda _: Ended(Outcome.DONE, "fine"), history.run("r1"))

    assert report.outcome is Outcome.DONE
    assert not history.root.exists()


def test_a_step_that_finds_the_disk_full_says_so_and_may_be_tried_again(tmp_path: Path) -> None:
    run = History(tmp_path).run("r1")

    def step(_: RunContext) -> Ended:
        Path("/dev/full").write_text("a row")
        raise AssertionError

    report = perform("publish", step, run)

    assert (report.outcome, report.transient) == (Outcome.FAILED, True)
    assert report.error is not None
    assert report.error["code"] == "DiskFull"
    assert report.error["data"]["folder"] == str(run.pipeline.layout.root)
    assert report.error["data"]["free_bytes"] > 0
    assert reports.read(run.pipeline.layout.run("r1"), "publish") == report


@pytest.mark.parametrize(
    "said",
    [
        OSError(errno.EDQUOT, "Disk quota exceeded", "/root/orders/table"),
        # As Arrow, delta-rs and the JVM say it.
        OSError(errno.ENOSPC, "Error writing bytes to file"),
        RuntimeError("Generic LocalFileSystem error: No space (os error 28)"),
        RuntimeError("java.io.IOException: No space left on device"),
        TransientError("Interrupted: java.io.IOException: No space left on device.", remedy=""),
    ],
)
def test_a_full_disk_has_one_name_whoever_finds_it(tmp_path: Path, said: Exception) -> None:
    def step(_: RunContext) -> Ended:
        raise said

    error = perform("publish", step, History(tmp_path).run("r1")).error
    assert error is not None
    assert error["code"] == "DiskFull"


def test_a_full_disk_is_found_behind_a_library_s_own_error(tmp_path: Path) -> None:
    def step(_: RunContext) -> Ended:
        try:
            raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "docs" / "x"))
        except OSError as error:
            raise ValueError("The page was not rendered") from error

    error = perform("gate", step, History(tmp_path).run("r1")).error
    assert error is not None
    assert (error["code"], error["data"]["folder"]) == ("DiskFull", str(tmp_path))


def test_a_jvm_that_is_gone_is_named_whatever_is_tried_of_it_after(tmp_path: Path) -> None:
    def step(_: RunContext) -> Ended:
        try:
            raise Py4JNetworkError("Error while sending or receiving")
        finally:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    report = perform("ingest", step, History(tmp_path).run("r1"))

    assert report.error is not None
    assert (report.error["code"], report.transient) == ("JvmGone", True)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_what_may_not_be_read_or_written_is_named_and_needs_a_person(
    tmp_path: Path, number: int
) -> None:
    path = tmp_path / os.fsdecode(b"bad\xff")

    def step(_: RunContext) -> Ended:
        raise OSError(number, os.strerror(number), str(path))

    report = perform("doctor", step, History(tmp_path).run("r1"))

    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["code"] == "NotPermitted"
    assert report.error["data"]["path"] == str(tmp_path / "bad\\udcff")


def test_an_exception_whose_text_is_no_utf8_leaves_a_report(tmp_path: Path) -> None:
    run = History(tmp_path).run("r1")

    def step(_: RunContext) -> Ended:
        raise ValueError(os.fsdecode(b"bad\xff"))

    with pytest.raises(ValueError, match="bad"):
        perform("gate", step, run)

    left = reports.read(run.pipeline.layout.run("r1"), "gate")
    assert left is not None
    assert left.reason == "ValueError: bad\\udcff"


def test_what_a_run_records_has_the_time_of_its_clock(tmp_path: Path) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    history = History(tmp_path)
    history.increment(rows(1))

    report = perform("publish", publish, replace(history.run("r1"), clock=lambda: noon))

    (event,) = history.journal.events()
    holder = documents.read(history.layout.lease / f"{event.epoch:06d}.json", Holder)
    assert holder is not None
    assert {report.started, report.finished, event.at, holder.since} == {noon}
    assert history.journal.published()[event.seq].at == noon
