"""A pipeline under one folder: where its files are, and how its steps run in this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.contract.objects.object_path import path_of
from tidemill.contract.report import Outcome, Report, Step
from tidemill.ledger.run_request import read_request
from tidemill.main import step_function
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

STEPS: tuple[Step, ...] = ("doctor", "ingest", "gate", "publish")


class PipelineFolder:
    """What pipelines of tests have in common; `home` gets `project/` and `root/`.

    Attributes:
        url: The root where it is in an object store.
    """

    home: Path
    name: str
    url: str | None = None

    @property
    def root(self) -> Path:
        return path_of(self.url) if self.url else self.home / "root"

    @property
    def layout(self) -> Layout:
        return Layout(self.root, self.name)

    @property
    def checkpoint(self) -> Path:
        return self.layout.checkpoint(FIRST_GENERATION)


class RunnablePipeline(PipelineFolder):
    """A pipeline whose steps run with this process's Spark."""

    @property
    def environ(self) -> dict[str, str]:
        """The variables with which a process of its own finds this pipeline."""
        return {
            **os.environ,
            "TIDEMILL_ROOT": str(self.root),
            "TIDEMILL_PROJECTS": str(self.home / "project"),
            "TIDEMILL_MASTER": "local[2]",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }

    @property
    def pipeline(self) -> Pipeline:
        return open_pipeline(self.name, self.environ)

    def context(self, run_id: str) -> RunContext:
        return RunContext(self.pipeline, run_id, lambda _: None)

    def step(self, step: Step, run_id: str) -> Report:
        return perform(step, step_function(step), self.context(run_id))

    def run(self, run_id: str) -> dict[Step, Report]:
        """The steps in order, up to the first that does not end with `done`."""
        reports: dict[Step, Report] = {}
        for step in read_request(self.layout.run(run_id)).steps:
            reports[step] = self.step(step, run_id)
            if reports[step].outcome is not Outcome.DONE:
                break
        return reports
