"""Commands on a root in an object store: each works there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.cli.test_help import commands
from tests.servers.s3 import S3
from tests.support.histories.history_builder import NAME, History, reject, rows
from tests.support.s3_root import new_root
from tidemill.contract.errors import ExitCode
from tidemill.storage.root_identity import initialise, register

WHY = ("--reason", "as a test says")
# They look at specs, samples and the installation, and below no root.
ELSEWHERE = {
    *("new", "preview", "test", "render", "explain", "example list", "example copy"),
    "schema infer",
}
# In this order, as the next ones find what one has done; each with its exit code.
WORKING: dict[str, tuple[tuple[str, ...], ExitCode]] = {
    "init": (("init",), ExitCode.DONE),
    "check": (("check", NAME), ExitCode.DONE),
    "plan": (("plan", NAME), ExitCode.DONE),
    "suite infer": (("suite", "infer", NAME), ExitCode.DONE),
    "run": (("run", NAME, "--dry-run"), ExitCode.DONE),
    "stream": (("stream", NAME, "--dry-run"), ExitCode.DONE),
    # The folder is not empty: with a copy Spark would run.
    "drill": (("drill", NAME, "--into", "."), ExitCode.USAGE),
    "doctor": (("doctor", NAME), ExitCode.DONE),
    "info": (("info",), ExitCode.DONE),
    "bundle": (("bundle", NAME, "--to", "bundle.tar.gz"), ExitCode.DONE),
    "status": (("status", NAME), ExitCode.DONE),
    "rows": (("rows", NAME, "--rejected"), ExitCode.DONE),
    "late": (("late", NAME), ExitCode.DONE),
    "sql": (("sql", f"FROM {NAME}"), ExitCode.DONE),
    "where": (("where", "f0000.csv"), ExitCode.DONE),
    "history": (("history", NAME), ExitCode.DONE),
    # No gate has judged here.
    "docs": (("docs", NAME), ExitCode.USAGE),
    "journal show": (("journal", "show", NAME), ExitCode.DONE),
    # The event is in the table.
    "journal withdraw": (("journal", "withdraw", NAME, "1", *WHY), ExitCode.USAGE),
    "state list": (("state", "list", NAME), ExitCode.DONE),
    # It keeps no state.
    "state show": (("state", "show", NAME), ExitCode.USAGE),
    "lease show": (("lease", "show", NAME), ExitCode.DONE),
    "lease repair": (("lease", "repair", NAME, "--yes"), ExitCode.DONE),
    "target repair": (("target", "repair", NAME, "delta", "--yes"), ExitCode.DONE),
    "checkpoint repair": (("checkpoint", "repair", NAME, "--yes"), ExitCode.DONE),
    "checkpoint snapshot": (("checkpoint", "snapshot", NAME, "--apply"), ExitCode.DONE),
    "checkpoint show": (("checkpoint", "show", NAME), ExitCode.DONE),
    "checkpoint fork": (
        ("checkpoint", "fork", NAME, "--as", "trial", *WHY, "--apply"),
        ExitCode.DONE,
    ),
    "relocate": (("relocate", "--all", "--apply"), ExitCode.DONE),
    "rename": (("rename", NAME, "renamed"), ExitCode.DONE),
    "resolve": (("resolve", NAME), ExitCode.HELD),
    "redo": (("redo", NAME, *WHY, "--dry-run"), ExitCode.DONE),
    # What was rejected has no day.
    "replay": (("replay", NAME, *WHY, "--dry-run"), ExitCode.REFUSED),
    # It needs days.
    "backfill": (("backfill", NAME, *WHY, "--dry-run"), ExitCode.USAGE),
    "rebuild": (("rebuild", NAME, *WHY, "--dry-run"), ExitCode.DONE),
    "follow": (("follow", NAME, *WHY), ExitCode.DONE),
    # It has no suite.
    "requalify": (("requalify", NAME), ExitCode.USAGE),
    "reject": (("reject", NAME, "2", *WHY), ExitCode.DONE),
    "reinstate": (("reinstate", NAME, "2", *WHY, "--dry-run"), ExitCode.DONE),
    "release": (("release", NAME, "3", *WHY), ExitCode.DONE),
    # It works row by row.
    "flush": (("flush", NAME, "--to", "2026-03-01", *WHY, "--yes"), ExitCode.USAGE),
    # It reads no topic.
    "accept-loss": (("accept-loss", NAME, *WHY, "--yes"), ExitCode.USAGE),
    "upgrade": (("upgrade", NAME, "--yes"), ExitCode.DONE),
    "diff": (("diff", NAME, "--from", "0", "--to", "0"), ExitCode.DONE),
    "checkpoint restore": (("checkpoint", "restore", NAME, "1", *WHY, "--apply"), ExitCode.DONE),
    "checkpoint rewind": (
        ("checkpoint", "rewind", NAME, "--to", "run-1", *WHY, "--apply"),
        ExitCode.DONE,
    ),
    "compact": (("compact", NAME, "--apply"), ExitCode.DONE),
    "erase": (("erase", NAME, "--where", "id = 1", *WHY, "--apply"), ExitCode.DONE),
    "vacuum": (("vacuum", NAME, "--apply"), ExitCode.DONE),
    "upkeep": (("upkeep", "--all", "--apply"), ExitCode.DONE),
    "drop": (("drop", NAME, "--table", "--yes"), ExitCode.DONE),
}
NOT_WORKING = {"LocalFileNeeded", "DiskRootNeeded", "Unforeseen"}


@pytest.fixture
def history(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> History:
    """A pipeline with a published increment and two held ones, whose root is in a bucket."""
    home = tmp_path / "home"
    home.mkdir()
    history = History(home, bucket=new_root(s3, monkeypatch))
    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    history.more = "transform: none\ngate: {suite: none}"
    history.write_spec(partition_by='{day: "to_date(at)"}')
    initialise(history.root, environ={})
    register(history.layout)
    return history


def lived(history: History) -> History:
    history.increment(rows(1), [reject("bad")])
    history.publish()
    for number in (2, 3):
        history.increment(rows(number), outcome="held")
    return history


def commands_of(group: bool) -> dict[str, Any]:
    found = {str(one.id): one.values[0] for one in commands()}
    return {name: one for name, one in found.items() if hasattr(one, "commands") is group}


def test_every_command_works_on_a_root_in_a_bucket(
    history: History, s3: S3, tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    lived(history)
    known = commands_of(group=False)
    assert {*known} == {*ELSEWHERE, *WORKING}
    wrong = {}
    for name, (words, code) in WORKING.items():
        takes_json = any("--json" in param.opts for param in known[name].params)
        answer = tidemill(*words, *(["--json"] if takes_json else []))
        said = answer.stdout + answer.stderr
        if answer.exit_code != code or any(error in said for error in NOT_WORKING):
            wrong[name] = (answer.exit_code, said[-1000:])
    assert wrong == {}
    # Some files of the fork are named by its source.
    left = [key for key in s3.objects(history.root.bucket) if "/trial/" not in key]
    assert [key for key in left if f"/{NAME}/" in key] == []
