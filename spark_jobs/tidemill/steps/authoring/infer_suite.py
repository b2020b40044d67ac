"""Proposes a suite from the rows that a pipeline has published."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemill.contract.errors import UsageError
from tidemill.file_formats.delta import open_dataset, read_head
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.authoring.profile import profile
from tidemill.steps.authoring.project_files import refuse_existing, write_files


class NoPublishedRows(UsageError):
    """There are no published rows to look at; carries `pipeline`."""


@dataclass(frozen=True)
class InferredSuite:
    """A suite that published rows hold.

    Args:
        suite: As Great Expectations writes it.
        version: The version of the table that was read.
    """

    suite: dict[str, Any]
    version: int
    rows: int | None

    @property
    def text(self) -> str:
        return json.dumps(self.suite, indent=2, ensure_ascii=False) + "\n"


def infer_suite(pipeline: Pipeline) -> InferredSuite:
    """Profile the newest version of a pipeline's table; masked columns are named without values.

    Raises:
        NoPublishedRows: it has no table, or one without rows.
    """
    head = read_head(pipeline.layout.table)
    if head is None or not head.rows:
        raise NoPublishedRows(
            f"{pipeline.name} has published no row into a table.",
            remedy=f"Publish some first: tidemill run {pipeline.name}",
            pipeline=pipeline.name,
        )
    expectations = profile(open_dataset(pipeline.layout.table), mask=pipeline.spec.gate.mask)
    name = _file(pipeline).stem
    suite = {"name": name, "expectations": expectations, "meta": {}}
    return InferredSuite(suite, head.version, head.rows)


def write_suite(pipeline: Pipeline, inferred: InferredSuite) -> Path:
    """Write a suite into the pipeline's project.

    Raises:
        FileExists: it has one.
    """
    path = _file(pipeline)
    write_files({path: inferred.text})
    return path


def own_suite(pipeline: Pipeline) -> Path:
    """The file of the pipeline's own suite, which is not there yet.

    Raises:
        FileExists: it is.
    """
    path = _file(pipeline)
    refuse_existing([path])
    return path


def _file(pipeline: Pipeline) -> Path:
    """The pipeline's own suite, also where its spec says that it has none."""
    own = pipeline.project.suite(pipeline.name)
    return own if pipeline.spec.gate.suite == "none" else pipeline.suite_file
