"""An error is one sentence with its remedy and an exit code, never a stack trace."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, rows, tree
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.remedies import carry_out
from tidemill.contract.errors import ExitCode
from tidemill.storage.lease import hold

pytestmark = pytest.mark.usefixtures("mill")


def test_people_get_one_line_on_standard_error(tidemill: Tidemill) -> None:
    answer = tidemill("status", "order")

    assert (answer.exit_code, answer.stdout) == (ExitCode.USAGE, "")
    assert answer.stderr.splitlines() == [
        "UsageError: There is no pipeline 'order'. Did you mean 'orders'?"
    ]


def test_programs_get_json_on_standard_output(tidemill: Tidemill) -> None:
    answer = tidemill("rows", "order", "--json")

    assert (answer.exit_code, answer.stderr) == (ExitCode.USAGE, "")
    assert (answer.json["code"], answer.json["transient"]) == ("UsageError", False)
    assert answer.json["data"] == {"name": "order", "nearest": "orders"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("rows",),
        ("rows", "orders", "--limit", "0"),
        ("rows", "orders", "--limt", "3"),
        ("release", "orders", "third", "--reason", "x"),
        ("fly",),
    ],
)
def test_a_wrong_command_line_is_wrong_usage(
    tidemill: Tidemill, arguments: tuple[str, ...]
) -> None:
    answer = tidemill(*arguments)

    assert (answer.exit_code, answer.stdout) == (ExitCode.USAGE, "")
    assert answer.stderr


@pytest.mark.parametrize("command", ["status", "rows", "where", "run", "release"])
def test_a_root_that_is_not_set_is_wrong_usage(
    tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("TIDEMILL_ROOT", "not/absolute")
    more = ("2", "--reason", "x") if command == "release" else ()

    answer = tidemill(command, "orders", *more, "--json")

    error = answer.pipeline["error"] if command in ("run", "status") else answer.json
    assert (answer.exit_code, error["data"]) == (ExitCode.USAGE, {"root": "not/absolute"})


def test_a_refusal_of_the_doctor_has_its_own_exit_code(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    mill.input.rmdir()

    answer = tidemill("run", "orders", "--json")

    assert (answer.exit_code, answer.pipeline["outcome"]) == (ExitCode.REFUSED, "refused")
    (doctor,) = answer.pipeline["reports"]
    assert (doctor["step"], doctor["error"]["code"]) == ("doctor", "InputMissing")
    assert doctor["error"]["data"]["path"] == str(mill.input)
    assert "mkdir -p" in tidemill("run", "orders").stderr


@pytest.mark.remedy("RootUnusable")
def test_a_root_that_is_not_there_is_refused_every_time_and_never_made(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    mill.root.rmdir()

    first, second = (tidemill("run", "orders", "--run-id", "r", "--json") for _ in range(2))

    for answer in (first, second):
        assert answer.exit_code == ExitCode.REFUSED
        assert answer.pipeline["error"]["code"] == "RootUnusable"
    assert not mill.root.exists()
    carry_out(mill, first.pipeline["error"]["remedy"], "init")
    mill.deliver("1.csv", ["a,1,2026-03-01 00:00:00"])
    carry_out(mill, "tidemill run orders", "run")


def test_nothing_to_do_is_no_failure(tidemill: Tidemill) -> None:
    answer = tidemill("run", "orders", "--run-id", "idle", "--json")

    assert (answer.exit_code, answer.pipeline["outcome"]) == (ExitCode.DONE, "skipped")
    assert answer.json["run_id"] == "idle"
    assert [report["step"] for report in answer.pipeline["reports"]] == ["doctor"]


def test_a_pipeline_that_is_written_to_cannot_be_released_into(
    tidemill: Tidemill, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1), outcome="held")
    monkeypatch.setattr("tidemill.steps.decisions.release.PATIENCE_SECONDS", 0)

    with hold(history.layout.lease, step="ingest", run_id="r1"):
        answer = tidemill("release", "orders", "1", "--reason", "x", "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.FAILED, "LeaseHeld")
    assert answer.json["transient"] is True
    assert answer.json["data"]["holder"]["run_id"] == "r1"
    assert history.snapshot.get(1).release is None


def test_the_console_script_leaves_with_the_exit_code(mill: OrdersPipeline) -> None:
    program = "from tidemill.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, "where", "nowhere.csv"],
        env=mill.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (ExitCode.USAGE, "")
    assert ended.stderr.startswith("UnknownFile: ")
    assert len(ended.stderr.splitlines()) == 1


NOT_UTF8 = os.fsdecode(b"caf\xe9 closed")


@pytest.mark.parametrize(
    "arguments",
    [
        ("release", "orders", "1", "--reason", NOT_UTF8),
        ("release", "orders", "1", "--reason", "closed", "--by", NOT_UTF8),
        ("reject", "orders", "1", "--reason", NOT_UTF8),
        ("reinstate", "orders", "1", "--reason", NOT_UTF8),
        ("redo", "orders", "--reason", "again", "--exclude", NOT_UTF8),
        ("rebuild", "orders", "--reason", NOT_UTF8),
        ("backfill", "orders", "--from", "2024-01-01", "--to", "2024-01-02", "--reason", NOT_UTF8),
        ("flush", "orders", "--to", "2024-01-01", "--reason", NOT_UTF8),
        ("accept-loss", "orders", "--reason", NOT_UTF8),
        ("run", "orders", "--run-id", NOT_UTF8),
    ],
)
def test_what_is_typed_in_no_utf8_is_wrong_usage_and_nothing_is_kept(
    tidemill: Tidemill, mill: OrdersPipeline, arguments: tuple[str, ...]
) -> None:
    before = tree(mill.layout.root)
    answer = tidemill(*arguments, "--json")

    assert (answer.exit_code, answer.stderr) == (ExitCode.USAGE, "")
    assert answer.json["code"] == "NotUnicode"
    assert "caf\\udce9" in answer.json["data"]["given"]
    assert tree(mill.layout.root) == before


def test_a_folder_that_may_not_be_read_is_named(
    tidemill: Tidemill, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.listdir

    def refuse(folder: str) -> Any:
        if Path(folder).is_relative_to(history.layout.increments):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return listed(folder)

    history.increment(rows(1))
    monkeypatch.setattr(os, "listdir", refuse)
    answer = tidemill("rows", "orders", "--increment", "1", "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.REFUSED, "NotPermitted")
    assert answer.json["data"] == {"path": str(history.layout.increments)}
