"""A shipped pipeline under a history: its own spec, transform and suite, in folders of a test's."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spark_jobs.contract.layout import Layout
from spark_jobs.contract.load import parse_spec
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.project import REPOSITORY, Project
from tests.e2e.flow import SUITE, Flow


@dataclass
class Shipped(Flow):
    """One of this repository's pipelines.

    It takes fewer files into a batch than it is shipped with, so that a history has more of them,
    and its gate judges what a test says.

    Args:
        home: Gets `project/`, `input/` and `root/`.
        name: Of the pipeline.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    transform: str = ""
    suite: Mapping[str, Any] = field(default_factory=lambda: SUITE)
    name: str = ""

    def __post_init__(self) -> None:
        self.layout.root.mkdir(parents=True, exist_ok=True)
        ours, shipped = self.project, Project(REPOSITORY)
        for source, copy in (
            (shipped.spec(self.name), ours.spec(self.name)),
            (shipped.transform(self.name), ours.transform(self.name)),
        ):
            copy = copy.with_suffix(source.suffix)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        spec = ours.spec(self.name)
        text = spec.read_text().replace("maxFilesPerTrigger: 10", "maxFilesPerTrigger: 2")
        spec.write_text(text.replace("hold_above: 0.1", "hold_above: 1"))
        self.write()
        for source in self.pipeline.spec.sources:
            self.folder(source).mkdir(parents=True)

    def write(self, transform: str | None = None, **changes: Any) -> None:
        """Write the suite; spec and transform are the repository's."""
        path = self.project.suite(self.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**self.suite, "name": self.name}))

    @property
    def project(self) -> Project:
        return Project(self.home / "project")

    @property
    def pipeline(self) -> Pipeline:
        path = self.project.spec(self.name)
        environ = {**os.environ, "TIDEMILL_INPUT": str(self.home / "input")}
        spec = parse_spec(path.read_text(), path=path, environ=environ)
        return Pipeline(self.name, spec, self.project, Layout(self.home / "root", self.name))

    def folder(self, source: str) -> Path:
        """Where a source's files arrive."""
        return Path(getattr(self.pipeline.spec.sources[source], "path"))  # noqa: B009 - a file source

    def put(self, path: str, lines: Iterable[str]) -> None:
        """A file under the input, such as one of a static table."""
        file = self.home / "input" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines))
