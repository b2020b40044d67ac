"""Many pipelines from one template: their DAGs, `tidemill check` and `tidemill status`."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from tests.bench.measure import Cost, cost_of
from tests.bench.results import Side
from tests.bench.sides import SCRIPTS

FEW = 10
SPEC = """\
transform: none
gate: {suite: none}
schedule: "@hourly"
sources:
  lines: {kind: file, format: csv, path: "/in/${folder}", schema: "id string, at timestamp"}
event_time: {column: at}
"""


class TemplateSides:
    """A project with many rows of `each`, and one with few.

    Args:
        home: An empty folder.
        pipelines: How many rows the first has.
    """

    def __init__(self, home: Path, pipelines: int) -> None:
        self.pipelines = pipelines
        self.many = _project(home / "many", pipelines)
        self.few = _project(home / "few", FEW)

    def dags(self) -> tuple[Side, Side]:
        """Against as many DAGs with as many tasks, written by hand."""
        return (
            partial(self._cost, self.many, sys.executable, str(SCRIPTS / "dags.py")),
            partial(
                self._cost,
                self.many,
                *(sys.executable, str(SCRIPTS / "dags_by_hand.py"), str(self.pipelines)),
            ),
        )

    def command(self, *words: str) -> tuple[Side, Side]:
        """A command over many pipelines, against the same one over few."""
        command = (str(Path(sys.executable).with_name("tidemill")), *words)
        return partial(self._cost, self.many, *command), partial(self._cost, self.few, *command)

    def _cost(self, project: Path, *command: str) -> Cost:
        ours = {
            "AIRFLOW_HOME": str(project / "airflow"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "TIDEMILL_EXAMPLES": "",
            "TIDEMILL_PROJECTS": str(project),
            "TIDEMILL_ROOT": str(project / "root"),
        }
        return cost_of([command], {**os.environ, **ours})


def _project(home: Path, rows: int) -> Path:
    specs = home / "dags" / "specs"
    specs.mkdir(parents=True)
    (home / "root").mkdir()
    (home / "tidemill.yaml").write_text("tidemill: 1\n")
    each = "".join(f"  f{number:04d}: {{folder: f{number:04d}}}\n" for number in range(rows))
    (specs / "feed.yaml").write_text(f"each:\n{each}{SPEC}")
    return home
