"""The blocks of the page on new pipelines do what it says, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.pages import BLOCKS


def words(line: str) -> str:
    """A line without the blanks or tabs that only align it."""
    return " ".join(line.split())


def test_a_project_and_a_pipeline_are_made_as_the_page_shows(tmp_path: Path) -> None:
    environ = {name: text for name, text in os.environ.items() if not name.startswith("TIDEMILL_")}
    environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environ["PATH"]))
    ended = subprocess.run(
        ["bash", "-e", "-c", BLOCKS["new-feed"] + BLOCKS["new"]],
        cwd=tmp_path,
        env=environ,
        check=True,
        capture_output=True,
        text=True,
    )
    said = [words(line) for line in ended.stdout.splitlines()]
    shown = [words(line) for line in BLOCKS["new-says"].splitlines()]
    assert [line for line in said if line in shown] == shown
