"""The page of every command, from the program's own help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.main import get_command

from tidemill.cli.app import app
from tidemill.cli.command_list import EXAMPLES, GROUPS, examples_in

INTRODUCTION = """# Every command

`make schema` writes this page from the commands' own help; do not edit it.
[The command line](command-line.md) says what all of them have in common.
"""


def command_page() -> str:
    """The page as Markdown: a section for each group of the help, and one for each command."""
    commands: Any = vars(get_command(app))["commands"]
    parts = [INTRODUCTION]
    for group in GROUPS:
        found = {name: one for name, one in commands.items() if one.rich_help_panel == group}
        parts.append(f"## {group}\n\n" + "\n".join(_table(found)) + "\n")
        for name, command in found.items():
            for path, one in _with_children(f"tidemill {name}", command):
                parts.append("\n".join(_section(path, one)).rstrip("\n") + "\n")
    return "\n".join(parts)


def _table(commands: Mapping[str, Any]) -> Iterator[str]:
    yield from ("| command | does |", "|---|---|")
    for name, command in commands.items():
        yield f"| [`{name}`](#tidemill-{name}) | {_escaped(_about(command)[0])} |"


def _with_children(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _with_children(f"{path} {name}", child)


def _about(command: Any) -> list[str]:
    """The paragraphs of a command's help without its examples."""
    text = (command.help or "").partition(f"{EXAMPLES}\n")[0]
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


def _section(path: str, command: Any) -> Iterator[str]:
    yield f"### {path}\n"
    for paragraph in _about(command):
        yield f"{_escaped(paragraph)}\n"
    children = getattr(command, "commands", {})
    # The examples of a group are those of its commands.
    examples = [] if children else examples_in(command.help or "")
    if examples:
        yield "\n".join(["```sh", *examples, "```"]) + "\n"
    if command.params:
        yield "| argument or option | meaning |\n|---|---|"
        context = typer.Context(command, info_name=path)
        for param in command.params:
            name, meaning = param.get_help_record(context)
            yield f"| `{_in_cell(name)}` | {_escaped(meaning)} |"


def _in_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Plain text as Markdown, in which an angle bracket would begin a tag."""
    return _in_cell(text).replace("<", "\\<").replace("[", "\\[")
