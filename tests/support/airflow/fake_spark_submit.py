"""Stands in for spark-submit: notes how it was called, and leaves the report it was told to."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any, cast

from tidemill.contract.report import Report
from tidemill.toolchain.engine_environment import APPLICATION

SCRIPT = """\
#!{python}
import json, os, pathlib, subprocess, sys, urllib.parse
here = pathlib.Path(__file__).parent
(here / "call.json").write_text(json.dumps({{"argv": sys.argv[1:], "env": dict(os.environ)}}))
report = here / "report.json"
words = [word.removeprefix("local://") for word in sys.argv]
step, pipeline, run = words[words.index({application!r}) + 1 :][:3]
if report.exists():
    name = urllib.parse.quote(run.removeprefix("--run-id="), safe="+:")
    folder = pathlib.Path(os.environ["TIDEMILL_ROOT"], pipeline, "runs", name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (step + ".json")).write_bytes(report.read_bytes())
says = here / "says"
print(says.read_text() if says.exists() else "a line per batch", flush=True)
if (here / "hang").exists():
    silent = {{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}}
    worker = subprocess.Popen(["sleep", "600"], process_group=0, **silent)
    (here / "worker").write_text(str(worker.pid))
    worker.wait()
sys.exit(int((here / "exit").read_text()) if (here / "exit").exists() else 0)
"""


class FakeSpark:
    """A `spark-submit` in a folder that is first on the PATH.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        binary = folder / "spark-submit"
        binary.write_text(SCRIPT.format(python=sys.executable, application=str(APPLICATION)))
        binary.chmod(binary.stat().st_mode | stat.S_IXUSR)

    def leaves(self, report: Report) -> None:
        (self.folder / "report.json").write_text(report.model_dump_json())
        self.exits(int(report.exit_code))

    def exits(self, code: int) -> None:
        (self.folder / "exit").write_text(str(code))

    def says(self, line: str) -> None:
        (self.folder / "says").write_text(line)

    def hangs(self) -> None:
        """Have it start a worker in a process group of its own, and wait for that."""
        (self.folder / "hang").touch()

    @property
    def worker(self) -> int | None:
        """The worker's pid, once it runs."""
        noted = self.folder / "worker"
        return int(noted.read_text() or 0) or None if noted.exists() else None

    @property
    def called(self) -> bool:
        return (self.folder / "call.json").exists()

    @property
    def call(self) -> dict[str, Any]:
        """`argv` and `env` of its last call."""
        return cast("dict[str, Any]", json.loads((self.folder / "call.json").read_text()))

    @property
    def conf(self) -> dict[str, str]:
        argv = self.call["argv"]
        pairs = [argv[at + 1] for at, word in enumerate(argv) if word == "--conf"]
        return dict(pair.split("=", 1) for pair in pairs)
