"""Forks the processes of steps from one that has imported everything: an import costs seconds.

    python -m tests.chaos.fork_server

It is started with the fault injector preloaded. Each line on its standard input asks for a process,
each line that it prints says how one has ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# Imported by what steps do, before any of them is asked for; none of it may start a thread.
NEEDED = (
    "deltalake",
    "duckdb",
    "great_expectations",
    "great_expectations.expectations",
    "psycopg",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "pyspark.sql",
    "tidemill.cli.app",
    "tidemill.main",
    "tidemill.engine.run.ingest",
    "tidemill.engine.recompute.recompute",
    "tidemill.steps.doctor",
    "tidemill.steps.gate",
    "tidemill.steps.ingest",
    "tidemill.steps.ingest_group",
    "tidemill.steps.publish",
)
PAUSE = 0.02
# Seconds without a beat after which a process takes a writer on another host for dead.
TIME_LIMIT = 3.0


def main() -> None:
    for name in NEEDED:
        __import__(name)
    print(json.dumps({"ready": True}), flush=True)
    numbers: dict[int, int] = {}
    pending = b""
    while True:
        readable, _, _ = select.select([0], [], [], PAUSE if numbers else None)
        if readable:
            text = os.read(0, 65536)
            if not text:
                return
            *lines, pending = (pending + text).split(b"\n")
            for line in lines:
                asked = json.loads(line)
                numbers[_start(asked)] = asked["number"]
        while numbers:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if not pid:
                break
            stopped = os.WIFSTOPPED(status)
            number = numbers[pid] if stopped else numbers.pop(pid)
            code = None if stopped else os.waitstatus_to_exitcode(status)
            print(json.dumps({"number": number, "pid": pid, "code": code}), flush=True)


def _start(asked: Mapping[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setsid()
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for descriptor, place in ((null, 0), (log, 1), (log, 2)):
            os.dup2(descriptor, place)
        os.environ.update(asked["environ"])
        # A forked process has run the library's constructor before it had these variables.
        ctypes.CDLL(os.environ["LD_PRELOAD"]).faults_arm_by_environment()
        _be_on_a_host(elsewhere=asked["elsewhere"])
        if asked["command"]:
            code = _type(asked["command"])
        else:
            code = _work(asked["step"], asked["pipelines"], asked["run_id"])
    except SystemExit as left:
        code = int(left.code or 0)
    except BaseException:  # noqa: BLE001 - the log has it
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _be_on_a_host(*, elsewhere: bool) -> None:
    """Take writers on another host for dead soon, and be on one if asked to."""
    from tests.hosts.writer import play_host
    from tidemill.storage import heartbeat, lease

    watch = lease._Watch
    setattr(lease, "_Watch", lambda folder, _: watch(folder, TIME_LIMIT))  # noqa: B010
    if elsewhere:
        heartbeat.BEAT_SECONDS = 0.1
        play_host("another-host")


def _type(words: Sequence[str]) -> int:
    from tidemill.cli.app import app

    app([*words])
    return 0


def _work(step: str, names: Sequence[str], run_id: str) -> int:
    from tests.chaos.group_process import backfill_group, prepare_group
    from tidemill.main import main as run_step
    from tidemill.storage.lease import leave_on_loss

    if step == "backfill":
        prepare_group()
        return backfill_group(names, run_id)
    if step == "ingest":
        prepare_group()
    leave_on_loss()
    return run_step([step, *names, "--run-id", run_id])


if __name__ == "__main__":
    main()
