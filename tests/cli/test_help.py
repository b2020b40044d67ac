"""What `--help` says: four groups, a line for each command, examples that can be typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.typed_commands import ROOT, parsed
from tidemill.cli.command_list import GROUPS, examples_in

LONGEST_LINE = 90


def commands(group: Any = ROOT, path: tuple[str, ...] = ()) -> Iterator[Any]:
    """Every command below a group, groups too."""
    for name, command in group.commands.items():
        words = (*path, name)
        yield pytest.param(command, words, id=" ".join(words))
        if hasattr(command, "commands"):
            yield from commands(command, words)


def test_every_command_stands_in_one_of_five_groups() -> None:
    groups = [command.rich_help_panel for command in ROOT.commands.values()]

    assert {*groups} == {*GROUPS}
    assert [*GROUPS] == ["Write", "Run", "Look", "Decide and compute again", "Tidy up"]
    assert len(groups) == sum(len(commands) for commands in GROUPS.values())


def test_no_two_commands_say_the_same() -> None:
    lines = [command.get_short_help_str(200) for command in ROOT.commands.values()]

    assert len({*lines}) == len(lines)


@pytest.mark.parametrize(("command", "path"), [*commands()])
def test_a_command_says_in_a_line_what_it_is_and_has_an_example(
    command: Any, path: tuple[str, ...]
) -> None:
    first, _, rest = command.help.partition("\n\n")
    examples = examples_in(f"\n{rest}")

    assert first.endswith(".")
    assert len(first) <= LONGEST_LINE
    assert examples
    for example in examples:
        words = shlex.split(example.partition(">")[0], comments=True)
        assert words[: len(path) + 1] == ["tidemill", *path]
        parsed(words[1:])


def test_a_command_without_an_example_is_found() -> None:
    assert examples_in("Show rows.\n\nMore on this.") == []
