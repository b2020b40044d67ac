"""`tidemill resolve` shows what is held and what applies, and does in a terminal what is picked."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, rows
from tidemill.contract.errors import ExitCode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PROGRAM = "from tidemill.cli import main; main()"


def hold(history: History) -> None:
    history.batch(rows(1))
    history.judge(history.seal().increment, "held", NOON)
    history.increment(rows(2))


def in_a_terminal(history: History, *answers: str) -> int:
    """The exit code of the command, in a terminal in which somebody types."""
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "resolve", "orders", "--by", "ann"],
        stdin=end,
        stdout=end,
        stderr=end,
        env={**os.environ, **history.environ},
    ) as process:
        os.close(end)
        os.write(terminal, "".join(f"{answer}\n" for answer in answers).encode())
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 65_536)
            except OSError:
                # The other end is closed: the command has ended.
                break
            shown += piece
    os.close(terminal)
    return process.returncode


@pytest.mark.usefixtures("history")
def test_where_nothing_is_held_there_is_nothing_to_decide(tidemill: Tidemill) -> None:
    answer = tidemill("resolve", "orders", "--json")

    assert answer.exit_code == ExitCode.DONE
    assert answer.json == {"pipeline": "orders", "incident": None, "commands": []}


def test_what_is_held_is_shown_with_the_commands_that_apply(
    tidemill: Tidemill, history: History
) -> None:
    hold(history)

    answer = tidemill("resolve", "orders", "--json")

    assert answer.exit_code == ExitCode.HELD
    incident = answer.json["incident"]
    assert (incident["increment"]["increment"], incident["increment"]["state"]) == (1, "held")
    assert [one["increment"] for one in incident["waiting"]] == [2]
    assert answer.json["commands"] == [
        "tidemill release orders 1 --reason TEXT",
        "tidemill reject orders 1 --reason TEXT",
        "tidemill redo orders --reason TEXT",
    ]


def test_without_a_terminal_nothing_is_asked(tidemill: Tidemill, history: History) -> None:
    hold(history)

    answer = tidemill("resolve", "orders")

    assert answer.exit_code == ExitCode.HELD
    assert "tidemill release orders 1 --reason TEXT" in answer.stdout
    assert history.snapshot.get(1).release is None


def test_a_release_that_is_picked_is_done(history: History) -> None:
    hold(history)

    assert in_a_terminal(history, "1", "known") == ExitCode.DONE
    release = history.snapshot.get(1).release
    assert release is not None
    assert (release.by, release.reason) == ("ann", "known")


def test_what_is_put_off_changes_nothing(history: History) -> None:
    hold(history)

    assert in_a_terminal(history, "0") == ExitCode.HELD
    assert history.snapshot.get(1).release is None
