"""The first page of many pipelines, each with a long history."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.bench.measure import Cost
from tests.bench.results import Side
from tests.bench.sides import SCRIPTS
from tests.support.histories.history_builder import History, rows
from tests.support.spec_text import minimal
from tidemill.contract.layout import FIRST_GENERATION

# What a page could read of a pipeline; the data itself it never does.
READ = ("increments", "journal", "ledger", "lease", "runs")


class PageSides:
    """The page with a status document for each pipeline, and with none.

    Args:
        home: An empty folder.
        pipelines: How many.
        days: The increments of each, all published.
    """

    def __init__(self, home: Path, pipelines: int, days: int) -> None:
        self.root = home / "root"
        project = home / "project"
        (project / "dags" / "specs").mkdir(parents=True)
        past = _past(home / "past", days)
        for number in range(pipelines):
            name = f"p{number:04d}"
            (project / "dags" / "specs" / f"{name}.yaml").write_text(minimal())
            for folder in READ:
                shutil.copytree(
                    past / folder, self.root / name / folder, copy_function=os.link, symlinks=True
                )
        self.environ = {
            **os.environ,
            "AIRFLOW_HOME": str(home / "airflow"),
            "TIDEMILL_PROJECTS": str(project),
            "TIDEMILL_ROOT": str(self.root),
        }

    def sides(self) -> tuple[Side, Side]:
        return partial(self._load, "kept"), partial(self._load, "computed")

    def _load(self, documents: str) -> Cost:
        done = subprocess.run(
            [sys.executable, str(SCRIPTS / "page.py"), documents],
            env=self.environ,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return Cost(**json.loads(done.stdout.splitlines()[-1]))


def _past(home: Path, days: int) -> Path:
    """The folder of a pipeline that has published an increment a day: the first, many times."""
    home.mkdir(parents=True)
    history = History(home)
    history.increment(rows(1))
    history.publish()
    layout = history.layout
    for day in range(1, days):
        number, batches = day + 1, {"first": day, "last": day}
        first, own = layout.increments / "000001", layout.increments / f"{number:06d}"
        _like(first / "sealed.json", own / "sealed.json", increment=number, **batches)
        _like(first / "001.json", own / "001.json", increment=number)
        event, name = layout.journal / "000001.json", f"{number:06d}"
        _like(event, event.with_stem(name), seq=number, increment=number, **batches)
        applied = layout.journal / "000001.delta.json"
        _like(applied, applied.with_name(f"{name}.delta.json"), seq=number, version=day)
        batch = layout.ledger(FIRST_GENERATION) / "000000.json"
        _like(batch, batch.with_stem(f"{day:06d}"), batch=day)
    return layout.home


def _like(pattern: Path, path: Path, /, **fields: int) -> None:
    """A document like another, with other numbers in it."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**json.loads(pattern.read_text()), **fields}))
