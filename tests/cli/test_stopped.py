"""A command that is stopped says so in one sentence, and --json is one document whatever prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.processes import wait_for
from tests.support.shown_errors import seen_in
from tidemill.contract.errors import ExitCode
from tidemill.storage.lease import hold

# What starts the tests in the background may have them ignore Ctrl-C, which children inherit.
PROGRAM = """
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
from tidemill.cli import main

main()
"""
SLOW = """
import time

from pyspark.sql import functions as F


@F.udf("int")
def slow(n):
    time.sleep(60)
    return n


def transform(rows):
    print("a transform prints")
    return rows.withColumn("double", slow("quantity"))
"""


def start(mill: OrdersPipeline, *arguments: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=mill.environ | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_with_one_sentence(
    mill: OrdersPipeline, number: signal.Signals
) -> None:
    mill.deliver("1.csv", ["a,2,2026-03-01 10:00:00"])
    with hold(mill.layout.lease, step="ingest", run_id="r1"):
        waiting = start(mill, "run", "orders")
        assert waiting.stdout is not None
        # The doctor has ended, and the ingest waits for the lease before it starts a JVM.
        waiting.stdout.readline()
        waiting.send_signal(number)
        out, err = waiting.communicate(timeout=300)

    seen_in(err)
    assert (waiting.returncode, out) == (128 + number, "")
    assert err.startswith("Stopped: ")
    assert len(err.splitlines()) == 1


def test_a_jvm_that_does_not_start_is_told_of_each_pipeline_in_the_one_document(
    mill: OrdersPipeline,
) -> None:
    project = mill.home / "project"
    for file in [path for path in project.rglob("orders.*") if path.is_file()]:
        file.with_name(f"refunds{file.suffix}").write_text(file.read_text())
    mill.deliver("1.csv", ["a,2,2026-03-01 10:00:00"])
    java = mill.home / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    # It is looked at, and dies when Spark is to start in it.
    (java.parent.parent / "release").write_text('JAVA_VERSION="17.0.15"\n')
    java.write_text("#!/bin/sh\nexit 3\n")
    java.chmod(0o755)

    running = start(mill, "run", "orders", "refunds", "--json", JAVA_HOME=str(java.parent.parent))
    out, err = running.communicate(timeout=300)

    told = json.loads(out)
    assert running.returncode == told["exit_code"] == ExitCode.FAILED
    assert {one["pipeline"]: one["error"]["code"] for one in told["pipelines"]} == {
        "orders": "JvmGone",
        "refunds": "JvmGone",
    }
    assert "Traceback" not in err


@pytest.mark.usefixtures("child_jvm")
def test_a_jvm_that_is_killed_is_one_sentence_and_one_document(mill: OrdersPipeline) -> None:
    path = mill.home / "project" / "spark_jobs" / "transforms" / "orders.py"
    path.write_text(SLOW)
    mill.deliver("1.csv", ["a,2,2026-03-01 10:00:00"])
    running = start(mill, "run", "orders", "--run-id", "r1", "--json")
    ledger = mill.layout.home / "ledger"
    started = lambda: [*ledger.glob("*/starts/*.json")]  # noqa: E731
    wait_for(lambda: started() or running.poll() is not None, deadline=400)
    assert started()
    (java,) = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    os.kill(int(java), signal.SIGKILL)
    out, err = running.communicate(timeout=300)

    (only,) = json.loads(out)["pipelines"]
    assert running.returncode == ExitCode.FAILED
    assert (only["error"]["code"], only["error"]["data"]["exit"]) == ("JvmGone", -signal.SIGKILL)
    assert Path(only["error"]["data"]["log"]).parent == mill.layout.run("r1")
    assert err.count("ingest failed: ") == 1
    assert "a transform prints" in err
    assert "Traceback" not in err
    assert "ERROR" not in err
