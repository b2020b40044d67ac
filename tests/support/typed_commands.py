"""A `tidemill` command in a text, as far as the program's own parser takes its words."""

from __future__ import annotations

from typing import Any

import typer
from typer.main import get_command

from tidemill.cli.app import app

END = ".,;:)`'"
ROOT: Any = get_command(app)


def typed(text: str) -> list[str] | None:
    """The words of a command at the start of a text, as far as its own parser takes them."""
    words, command, found = text.split(), ROOT, list[str]()
    while words and hasattr(command, "commands"):
        word = words.pop(0)
        name = word.rstrip(END)
        if name not in command.commands:
            return None if not found else [*found, name]
        command = command.commands[name]
        found.append(name)
        if word != name:
            return found
    options = {name: p for p in command.params for name in p.opts if p.param_type_name == "option"}
    room = sum(p.param_type_name == "argument" for p in command.params)
    while words:
        word = words.pop(0)
        name = word.rstrip(END)
        if name.startswith("--"):
            option = options.get(name.partition("=")[0])
            found.append(name)
            if option is not None and not option.is_flag and "=" not in name and words:
                word = words.pop(0)
                found.append(word.rstrip(END))
        elif room and not name.startswith("("):
            found.append(name)
            room -= 1
        else:
            break
        if word[-1] in END:
            break
    return found


def parsed(words: list[str]) -> None:
    """Parse a command with the program's own parser, and run nothing."""
    command, context = ROOT, None
    for position, name in enumerate(words):
        if not hasattr(command, "commands"):
            command.make_context(words[position - 1], [*words[position:]], parent=context)
            return
        context = typer.Context(command, info_name=name, parent=context)
        command = command.commands[name]
    command.make_context(words[-1], [], parent=context)


def is_known(text: str) -> bool:
    """Whether the command at the start of a text is there, with every option that follows."""
    command, known = ROOT, {"--help", "--install-completion", *_options(ROOT)}
    for word in text.split():
        name = word.rstrip(END).partition("=")[0]
        if name.startswith("--"):
            if name not in known:
                return False
        elif hasattr(command, "commands") and (
            name in command.commands or not getattr(command, "invoke_without_command", False)
        ):
            if name not in command.commands:
                return False
            command = command.commands[name]
            known |= _options(command)
    return command is not ROOT or any(word.startswith("--") for word in text.split())


def _options(command: Any) -> set[str]:
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
