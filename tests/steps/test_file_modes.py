"""What is under the root is for its owner and the group, whatever umask a run was started with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tests.support.processes import child
from tidemill.contract.file_mode import keep_from_others
from tidemill.steps.doctor import doctor

# As the console script and the tasks of Airflow start them.
COMMAND_LINES = {
    "steps": "import sys; from tidemill.main import main; sys.exit(main(sys.argv[1:]))",
    "commands": "import sys; from tidemill.cli import main; main()",
}


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """That of most machines: everybody may read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def started(history: History, line: str, *arguments: str) -> None:
    with child(COMMAND_LINES[line], *arguments, environ=history.environ) as process:
        said, _ = process.communicate()
        assert process.returncode == 0, said


def open_paths(history: History, before: set[Path]) -> set[Path]:
    """What was made since and others may read, write or search."""
    made = set(history.layout.home.rglob("*")) - before
    assert made
    return {path for path in made if path.lstat().st_mode & 0o007 and not path.is_symlink()}


def test_what_steps_write_is_for_owner_and_group(history: History) -> None:
    history.increment(rows(1, 2), [reject("a")])
    before = set(history.layout.home.rglob("*"))
    started(history, "steps", "doctor", "orders", "--run-id=run-2")
    started(history, "steps", "publish", "orders", "--run-id=run-2")
    assert history.ids() == [1, 2]
    assert open_paths(history, before) == set()


def test_what_commands_write_is_for_owner_and_group(history: History) -> None:
    history.increment(rows(1), outcome="held")
    before = set(history.layout.home.rglob("*"))
    started(history, "commands", "release", "orders", "1", "--reason", "it is right")
    assert open_paths(history, before) == set()


def test_a_stricter_umask_stays() -> None:
    os.umask(0o077)
    keep_from_others()
    assert os.umask(0o022) == 0o077


@pytest.mark.parametrize(
    ("root", "home", "warned"),
    [(0o755, 0o755, True), (0o755, 0o750, False), (0o750, 0o755, False), (0o711, 0o754, True)],
)
def test_the_doctor_says_when_others_can_read_a_root(
    history: History, root: int, home: int, warned: bool
) -> None:
    history.increment(rows(1))
    history.layout.home.chmod(home)
    history.layout.root.chmod(root)
    said: list[str] = []
    doctor(replace(history.run("look"), log=said.append))
    assert any(f"chmod -R o-rwx '{history.layout.home}'" in line for line in said) == warned
