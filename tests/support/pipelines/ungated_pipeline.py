"""A small pipeline that ends in a sink of Spark's own, to run in this process."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.pipelines.pipeline_folder import RunnablePipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome, Report, Step
from tidemill.engine.run.options import RunOptions
from tidemill.ledger.ledger import Batch, Ledger
from tidemill.spec.stream_trigger import parse_trigger
from tidemill.steps.parts.run import perform
from tidemill.steps.stream import stream

NAME = "words"
IDENTITY = "def transform(rows):\n    return rows\n"
COUNTS = "def transform(rows):\n    return rows.groupBy('word').count()\n"


@dataclass
class UngatedPipeline(RunnablePipeline):
    """One pipeline under a temporary folder; its files hold a word and a number a line.

    Args:
        home: Gets `project/`, `input/` and `root/`.
        sink: As in a spec; None for a pipeline that publishes.
        code: The transform's file.
        more: Further parts of the spec, over those made here.
        source: Options of the source, over those made here.
    """

    home: Path
    sink: dict[str, Any] | None
    code: str = IDENTITY
    more: dict[str, Any] | None = None
    source: dict[str, Any] | None = None
    name = NAME

    def __post_init__(self) -> None:
        for folder in (self.input, self.root, self.project / "dags/specs"):
            folder.mkdir(parents=True, exist_ok=True)
        (self.project / "spark_jobs/transforms").mkdir(parents=True, exist_ok=True)
        (self.project / "expectations/suites").mkdir(parents=True, exist_ok=True)
        self.write()

    def write(self) -> None:
        """Write spec and transform, as they are now."""
        source = {
            "kind": "file",
            "format": "csv",
            "path": str(self.input),
            "schema": "word string, number int",
            "options": {"header": False},
            "maxFilesPerTrigger": 1,
        }
        spec = {"sources": {"lines": self.source or source}, **(self.more or {})}
        if self.sink is not None:
            spec["sink"] = self.sink
        (self.project / f"dags/specs/{NAME}.yaml").write_text(yaml.safe_dump(spec))
        (self.project / f"spark_jobs/transforms/{NAME}.py").write_text(self.code)

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def input(self) -> Path:
        return self.home / "input"

    def deliver(self, name: str, *lines: str) -> None:
        """Put an input file in place whole."""
        draft = self.home / name
        draft.write_text("".join(f"{line}\n" for line in lines))
        draft.replace(self.input / name)

    def run(self, run_id: str, step: Step = "ingest") -> Report:
        """One step, which of such a pipeline is a run."""
        return self.step(step, run_id)

    def stream(self, run_id: str, trigger: str, **options: Any) -> Report:
        """A query with any trigger, until `stop` says so."""
        how = RunOptions(parse_trigger(trigger), **options)
        return perform("ingest", lambda run: stream(run, how), self.context(run_id))

    @property
    def batches(self) -> list[Batch]:
        return Ledger(self.layout, FIRST_GENERATION).batches()

    @property
    def logged(self) -> tuple[list[int], list[int]]:
        """The batches that Spark planned, and those that it committed."""
        planned, committed = (
            sorted(int(path.name) for path in (self.checkpoint / name).glob("[0-9]*"))
            for name in ("offsets", "commits")
        )
        return planned, committed

    def notes(self, name: str = "seen") -> list[Any]:
        """What the user's code wrote down, one JSON document a file, in the order of writing."""
        files = sorted((self.home / name).glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(path.read_text()) for path in files]


def noting(home: Path, name: str = "seen") -> str:
    """Code with a function `note(what)`, which may run in any process and at the same time."""
    folder = home / name
    folder.mkdir(exist_ok=True)
    return f"""
import json, uuid
from pathlib import Path

def note(what):
    Path({str(folder)!r}, f"{{uuid.uuid4().hex}}.json").write_text(json.dumps(what))

"""


def done(reports: Iterable[Report]) -> bool:
    return all(report.outcome is Outcome.DONE for report in reports)
