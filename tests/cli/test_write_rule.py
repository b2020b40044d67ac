"""The rule of commands that write: `--dry-run` on each, and a yes before what stays."""

from __future__ import annotations

import os
import pty
import shutil
from collections.abc import Callable, Iterator

import pytest
import typer

from tests.cli.conftest import Answer, Tidemill
from tests.cli.test_help import commands
from tests.support.histories.history_builder import NAME, History, rows
from tidemill.cli.app import app
from tidemill.contract.errors import ExitCode

READS = {
    *("check", "preview", "test", "drill", "render", "plan", "example list", "schema infer"),
    *("doctor", "info", "status", "rows", "late", "diff", "sql", "where", "history", "explain"),
    *("docs", "journal show", "lease show", "checkpoint show", "state list", "state show"),
    # Groups: what stands below them has the options.
    *("example", "suite", "journal", "state", "target", "lease", "checkpoint"),
}
# They show what they would do, and do it with `--apply`.
UPKEEP = {
    "vacuum",
    "compact",
    "upkeep",
    "relocate",
    "rename",
    "erase",
    *("checkpoint rewind", "checkpoint restore", "checkpoint snapshot", "checkpoint fork"),
}
WHY = ("--reason", "as a test says")
DECISIONS = {
    "release": ("release", NAME, "2", *WHY),
    "reject": ("reject", NAME, "2", *WHY),
    "redo": ("redo", NAME, *WHY),
    "resolve": ("resolve", NAME),
    "journal withdraw": ("journal", "withdraw", NAME, "1", *WHY),
    "bundle": ("bundle", NAME),
    "example copy": ("example", "copy", "windowed_words"),
    "suite infer": ("suite", "infer", NAME, "--write"),
    "new": ("new", "fresh", "--from", "sample.csv"),
    "init": ("init", "mills"),
    "schema": ("schema", "--write"),
}
Prepare = Callable[[History], None]


def lost_lease(history: History) -> None:
    shutil.rmtree(history.layout.lease)


def torn_commit(history: History) -> None:
    (history.checkpoint / "commits" / "0").write_text("")


def lost_table_log(history: History) -> None:
    newest = max((history.layout.table / "_delta_log").glob("*.json"))
    newest.write_text("")


STAYING: dict[str, tuple[Prepare, tuple[str, ...]]] = {
    "lease repair": (lost_lease, ("lease", "repair", NAME)),
    "checkpoint repair": (torn_commit, ("checkpoint", "repair", NAME)),
    "target repair": (lost_table_log, ("target", "repair", NAME, "delta")),
    "drop": (lambda _: None, ("drop", NAME)),
}
# Their dry runs are computed by Spark, or need older documents or a broker: each has its own test.
ELSEWHERE = {
    *("run", "stream", "reinstate", "backfill", "replay", "follow", "requalify", "rebuild"),
    *("flush", "accept-loss", "upgrade"),
}


@pytest.fixture
def held(history: History, monkeypatch: pytest.MonkeyPatch) -> History:
    """A pipeline with a published increment and a held one, below an empty working directory."""
    history.increment(rows(1))
    history.publish()
    history.batch(rows(2))
    history.judge(history.seal().increment, "held")
    here = history.home / "here"
    here.mkdir()
    (here / "sample.csv").write_text("id,at\n1,2026-03-01T00:00:00\n")
    monkeypatch.chdir(here)
    return history


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """Calls the command at a terminal at which somebody has typed an answer; its exit code."""
    terminal, end = pty.openpty()

    def call(answer: str, *arguments: str) -> int:
        os.write(terminal, f"{answer}\n".encode())
        try:
            return int(typer.main.get_command(app)(arguments, standalone_mode=False) or 0)
        except typer.Abort:
            return int(ExitCode.FAILED)

    with os.fdopen(end, encoding="utf-8") as typed:
        monkeypatch.setattr("sys.stdin", typed)
        yield call
    os.close(terminal)


def everything(history: History) -> dict[str, object]:
    """The bytes of every file around a pipeline, without what may only inform."""
    return {
        str(path.relative_to(history.home)): path.read_bytes()
        for path in sorted(history.home.rglob("*"))
        if path.is_file() and path.name != "status.json"
    }


def names(writing: bool) -> set[str]:
    found = {param.id: param.values[0] for param in commands()}
    return {str(name) for name, one in found.items() if has(one, "--dry-run") is writing}


def has(command: object, option: str) -> bool:
    return any(option in param.opts for param in getattr(command, "params", ()))


def test_every_command_that_writes_has_a_dry_run() -> None:
    assert names(writing=False) == READS | UPKEEP
    assert {str(one.id) for one in commands() if has(one.values[0], "--apply")} == UPKEEP
    assert names(writing=True) == {*DECISIONS, *STAYING, *ELSEWHERE}


def test_only_what_stays_asks() -> None:
    asking = {param.id for param in commands() if has(param.values[0], "--yes")}

    assert asking == {*STAYING, "flush", "accept-loss", "upgrade", "rebuild"}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_dry_run_shows_a_plan_and_writes_nothing(
    name: str, held: History, tidemill: Tidemill
) -> None:
    before = everything(held)
    answer = tidemill(*DECISIONS[name], "--dry-run")

    assert answer.exit_code == (ExitCode.HELD if name == "resolve" else ExitCode.DONE)
    assert answer.stdout
    assert everything(held) == before


@pytest.mark.parametrize("name", STAYING)
def test_what_stays_is_planned_refused_unasked_and_done_with_yes(
    name: str, held: History, tidemill: Tidemill
) -> None:
    prepare, words = STAYING[name]
    prepare(held)
    before = everything(held)
    planned, unasked = tidemill(*words, "--dry-run", "--json"), tidemill(*words, "--json")

    assert (planned.exit_code, planned.json["dry_run"]) == (ExitCode.DONE, True)
    assert (unasked.exit_code, unasked.json["code"]) == (ExitCode.USAGE, "Unconfirmed")
    assert unasked.json["data"]["plan"] == planned.json["plan"] != []
    assert everything(held) == before
    assert tidemill(*words, "--yes").exit_code == ExitCode.DONE
    assert everything(held) != before


@pytest.mark.parametrize(("answer", "code"), [("n", ExitCode.FAILED), ("y", ExitCode.DONE)])
def test_at_a_terminal_it_asks(
    answer: str, code: ExitCode, held: History, at_a_terminal: Callable[..., int]
) -> None:
    lost_lease(held)
    before = everything(held)

    assert at_a_terminal(answer, "lease", "repair", NAME) == code
    assert (everything(held) != before) is (answer == "y")


def test_a_dry_run_refuses_what_the_command_would(held: History, tidemill: Tidemill) -> None:
    dry: Answer = tidemill("release", NAME, "1", *WHY, "--dry-run", "--json")
    real: Answer = tidemill("release", NAME, "1", *WHY, "--json")

    assert dry.json["code"] == real.json["code"] == "NotHeld"
    assert dry.exit_code == real.exit_code
