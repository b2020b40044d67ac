"""Somebody who reads the pages and does what their blocks say, in one shell."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from typer.testing import CliRunner

from tidemill.cli.app import app
from tidemill.contract.project import enter_project

# Exports and the folder live on from block to block, and every `tidemill` leaves its exit code.
# Those that need Spark are handed to this process, whose JVM is warm.
_SHELL = """
[ ! -e {state}/exports ] || . {state}/exports
[ ! -e {state}/folder ] || cd "$(cat {state}/folder)"
tidemill() {{
  local code
  case $1 in
    run|preview|stream|schema|plan|backfill)
      env -0 > {state}/environ
      {{ printf '%q ' "$@"; printf '\\n%s\\n' "$PWD"; }} >&{requests}
      read -r code <&{answers} ;;
    *) command tidemill "$@" || code=$? ;;
  esac
  printf '%s %s\\n' "${{code:=0}}" "$1" >> {state}/ended
  return "$code"
}}
trap 'export -p > {state}/exports; pwd > {state}/folder' EXIT
{block}
"""


@dataclass(frozen=True)
class Ended:
    """How a block ended.

    Args:
        exit_code: The exit code of the block.
        commands: Exit code and name of each `tidemill` command in it, in order.
        output: What it printed.
    """

    exit_code: int
    commands: list[tuple[int, str]]
    output: str


@dataclass(frozen=True)
class Shell:
    """A shell.

    Args:
        folder: Where it starts.
        state: An empty folder for what it remembers.
        environ: What it starts with.
    """

    folder: Path
    state: Path
    environ: Mapping[str, str]

    def run(self, block: str) -> Ended:
        """Run a block, whatever its commands exit with."""
        asked, requests = os.pipe()
        answers, answered = os.pipe()
        ended, log = self.state / "ended", self.state / "output"
        ended.write_text("")
        script = _SHELL.format(
            state=shlex.quote(str(self.state)), block=block, requests=requests, answers=answers
        )
        with log.open("w") as output:
            bash = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self.folder,
                env=self.environ,
                pass_fds=(requests, answers),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            os.close(requests)
            os.close(answers)
            with os.fdopen(asked) as lines, os.fdopen(answered, "w") as codes:
                for line in lines:
                    code, said = self._serve(shlex.split(line), next(lines).rstrip("\n"))
                    output.write(said)
                    output.flush()
                    print(code, file=codes, flush=True)
        codes_and_names = [line.split() for line in ended.read_text().splitlines()]
        commands = [(int(code), name) for code, name in codes_and_names]
        return Ended(bash.wait(), commands, log.read_text())

    def _serve(self, arguments: list[str], folder: str) -> tuple[int, str]:
        pairs = (self.state / "environ").read_text().rstrip("\0").split("\0")
        exported = dict(pair.split("=", 1) for pair in pairs)
        here = Path.cwd()
        with patch.dict(os.environ, exported):
            os.chdir(folder)
            enter_project(Path(folder))
            try:
                result = CliRunner().invoke(app, arguments, catch_exceptions=False)
            finally:
                os.chdir(here)
        return result.exit_code, result.output
