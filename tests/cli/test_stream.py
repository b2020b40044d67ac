"""`tidemill stream` as people use it: a process that runs, and others that look at it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.servers.s3 import S3
from tests.support.pipelines.ungated_pipeline import NAME, UngatedPipeline
from tests.support.processes import child, wait_for
from tests.support.s3_root import new_root
from tidemill.contract.errors import ExitCode, LeaseHeld
from tidemill.ledger.running_queries import Running, RunningQuery, running
from tidemill.storage import lease
from tidemill.storage.processes import this_process
from tidemill.storage.root_identity import initialise

STREAM = "from tidemill.cli import main; main()"


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UngatedPipeline:
    """A pipeline that prints its rows, with the environment of commands set to it."""
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"})
    for name in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS", "TIDEMILL_MASTER"):
        monkeypatch.setenv(name, pipeline.environ[name])
    return pipeline


@pytest.fixture
def started(words: UngatedPipeline, child_jvm: Path) -> Iterator[subprocess.Popen[str]]:
    """A stream that has taken one batch, and waits an hour for the next."""
    words.deliver("a.csv", "mill,1")
    with child(STREAM, "stream", NAME, "--trigger", "processing-time=1h") as process:
        wait_for(lambda: any(query.plan for query in running(words.layout)))
        yield process


def test_a_stream_of_a_bucket_is_listed_watched_and_stopped(
    words: UngatedPipeline,
    child_jvm: Path,
    s3: S3,
    tidemill: Tidemill,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words.url = new_root(s3, monkeypatch)
    monkeypatch.setenv("TIDEMILL_ROOT", words.url)
    initialise(words.root, environ={})
    words.deliver("a.csv", "mill,1")
    with child(STREAM, "stream", NAME, "--trigger", "processing-time=1s") as process:
        wait_for(lambda: any(query.plan for query in running(words.layout)))
        words.deliver("b.csv", "mill,2")
        wait_for(lambda: any(query.batches > 1 for query in running(words.layout)))
        (listed,) = tidemill("stream", "--list", "--json").json
        assert (listed["process"]["pid"], listed["last_batch"]) == (process.pid, 1)
        assert tidemill("stream", NAME, "--status").exit_code == ExitCode.DONE
        assert tidemill("stream", NAME, "--explain", "--json").json["running"]
        assert tidemill("stream", NAME, "--stop").exit_code == ExitCode.DONE
        process.communicate(timeout=300)
    assert process.returncode == ExitCode.DONE
    assert running(words.layout) == []
    assert words.logged == ([0, 1], [0, 1])


@pytest.mark.remedy("LeaseHeld")
def test_a_stream_is_listed_watched_explained_and_stopped(
    words: UngatedPipeline, started: subprocess.Popen[str], tidemill: Tidemill
) -> None:
    (listed,) = tidemill("stream", "--list", "--json").json
    assert (listed["pipeline"], listed["trigger"]) == (NAME, "processing-time=3600s")
    assert (listed["process"]["pid"], listed["last_batch"]) == (started.pid, 0)
    assert str(started.pid) in tidemill("stream", "--list").stdout

    status = tidemill("stream", NAME, "--status", "--json").json
    assert status["status"]["message"] == "Waiting for next trigger"
    assert status["last_progress"]["id"] == listed["query_id"]
    assert status["last_progress"]["runId"] == listed["query_run_id"]
    assert tidemill("stream", NAME, "--status").exit_code == ExitCode.DONE

    explained = tidemill("stream", NAME, "--explain", "--json").json
    assert explained["running"]
    assert "Physical Plan" in explained["plan"]

    # A scheduled run meanwhile is told who is at work.
    with (
        pytest.raises(LeaseHeld) as error,
        lease.hold(words.layout.lease, step="ingest", run_id="scheduled", patience=0),
    ):
        raise AssertionError
    assert error.value.holder["step"] == "stream"
    assert f"tidemill stream {NAME} --stop" in error.value.remedy

    stopped = tidemill("stream", NAME, "--stop", "--json")
    assert stopped.json["query_id"] == listed["query_id"]
    assert lease.current_holder(words.layout.lease) is None
    printed, _ = started.communicate(timeout=300)
    assert started.returncode == ExitCode.DONE
    # The console sink prints what it was given.
    assert "|mill|" in printed.replace(" ", "")
    assert running(words.layout) == []
    assert words.logged == ([0], [0])


def test_a_signal_ends_a_stream_after_its_batch(
    words: UngatedPipeline, tidemill: Tidemill, spark: Any
) -> None:
    words.deliver("a.csv", "mill,1")

    def interrupt() -> None:
        wait_for(lambda: any(query.batches for query in running(words.layout)))
        os.kill(os.getpid(), signal.SIGTERM)

    with ThreadPoolExecutor() as other:
        sent = other.submit(interrupt)
        answer = tidemill("stream", NAME, "--trigger", "processing-time=1h", "--json")
        sent.result()
    assert answer.exit_code == ExitCode.DONE
    assert answer.json["facts"]["stopped"] == "stopped by a signal"
    assert words.logged == ([0], [0])


def test_no_query_is_listed_where_none_runs(words: UngatedPipeline, tidemill: Tidemill) -> None:
    assert tidemill("stream", "--list", "--json").json == []
    for flag in ("--status", "--stop"):
        answer = tidemill("stream", NAME, flag, "--json")
        assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoRunningQuery")


def test_a_killed_stream_is_not_listed(words: UngatedPipeline, tidemill: Tidemill) -> None:
    place = Running(words.layout, "killed")
    now = datetime.now(UTC)
    with child("import time; time.sleep(60)") as process:
        place.write(
            RunningQuery(
                pipeline=NAME,
                run_id="killed",
                query_id="q",
                query_run_id="r",
                process=this_process(process.pid),
                since=now,
                trigger="default",
                written=now,
            )
        )
        (listed,) = tidemill("stream", "--list", "--json").json
        assert listed["run_id"] == "killed"
    assert place.document.exists()
    assert tidemill("stream", "--list", "--json").json == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "UsageError"),
        ((NAME, "--stop", "--status"), "UsageError"),
        ((NAME, "--trigger", "hourly"), "TriggerUnknown"),
        (("unknown", "--status"), "UsageError"),
    ],
)
def test_a_wrong_use_is_told_so(
    words: UngatedPipeline, tidemill: Tidemill, arguments: tuple[str, ...], code: str
) -> None:
    answer = tidemill("stream", *arguments, "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, code)


def test_a_trigger_that_the_pipeline_cannot_have_starts_no_jvm(
    words: UngatedPipeline, tidemill: Tidemill
) -> None:
    answer = tidemill("stream", NAME, "--trigger", "continuous=1s", "--json")
    assert answer.exit_code == ExitCode.USAGE
    assert answer.json["error"]["code"] == "TriggerUnsupported"


def test_a_plan_is_explained_without_being_started(
    words: UngatedPipeline, tidemill: Tidemill, spark: Any
) -> None:
    explained = tidemill("stream", NAME, "--explain", "--json").json
    assert not explained["running"]
    assert "Physical Plan" in explained["plan"]
    assert words.logged == ([], [])


def test_batches_are_printed_as_they_come(
    words: UngatedPipeline, tidemill: Tidemill, spark: Any
) -> None:
    words.sink = {"kind": "memory"}
    words.write()
    words.deliver("a.csv", "mill,1", "wheel,2")
    shown = tidemill("stream", NAME, "--trigger", "available-now", "--show")
    assert shown.exit_code == ExitCode.DONE
    assert "batch 0: 2 of 2 rows" in shown.stdout
    assert {"mill", "wheel"} <= set(shown.stdout.split())


def test_a_run_of_such_a_pipeline_has_two_steps(
    words: UngatedPipeline, tidemill: Tidemill, spark: Any
) -> None:
    words.deliver("a.csv", "mill,1")
    answer = tidemill("run", NAME, "--json")
    assert [report["step"] for report in answer.pipeline["reports"]] == ["doctor", "ingest"]
    assert answer.pipeline["outcome"] == "done"
