"""A run of the second pipeline of a played chain, in a process that is killed at a point.

    python -m tests.support.kills.killed_turn HOME POINT

The process kills itself right after the function of the point has returned; where that would record
what is in the table, right before it is called.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.histories.played_chain import PlayedChain

IN_TABLE = "in the table"
# Point -> the function after which the process is killed, as module, class if any, and name.
POINTS = {
    "asked": ("tidemill.steps.decisions.follow", "", "fix_request"),
    "sealed": ("tidemill.increments.increments", "Increments", "seal"),
    "in the journal": ("tidemill.journal.journal", "Journal", "append"),
    IN_TABLE: ("tidemill.journal.journal", "Journal", "record"),
}
RUN = "killed"


def kill_turn(home: Path, point: str) -> None:
    """Run it, and see that it was killed."""
    command = [sys.executable, "-m", "tests.support.kills.killed_turn", str(home), point]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr


def main(home: str, point: str) -> None:
    module, owner, name = POINTS[point]
    place: Any = importlib.import_module(module)
    place = getattr(place, owner) if owner else place
    function = getattr(place, name)

    def killed(*args: Any, **kwargs: Any) -> None:
        if point != IN_TABLE:
            function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(place, name, killed)
    PlayedChain(Path(home)).second.turn(RUN)


if __name__ == "__main__":
    main(*sys.argv[1:])
