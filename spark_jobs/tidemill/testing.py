"""For tests of your own pipelines with pytest: what a pipeline makes of some rows.

    from tidemill.testing import pipeline

    def test_a_negative_level_is_rejected():
        found = pipeline("tides").preview([{"station": "A", "at": "2026-03-01", "level_cm": -3}])
        assert found.rejected == 1

It starts Spark in the process of the test, once for all tests. Tests that need no Python can stand
in `tests/<pipeline>.yaml`, which `tidemill test` runs.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import gettempdir

from tidemill.contract.log import Log
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps.read_only.pipeline_tests.cases import Given
from tidemill.steps.read_only.pipeline_tests.run import preview_rows
from tidemill.steps.read_only.preview import Preview

__all__ = ["PipelineUnderTest", "Preview", "pipeline"]


class PipelineUnderTest:
    """A pipeline of which a test wants to know what it makes of some rows.

    Args:
        pipeline: It; nothing under its root is read or written.
        environ: The variables that its spec names.
        log: Gets lines about progress.
    """

    def __init__(self, pipeline: Pipeline, environ: Mapping[str, str], log: Log) -> None:
        self.pipeline = pipeline
        self._environ = environ
        self._log = log

    def preview(self, given: Given | Mapping[str, Given]) -> Preview:
        """What comes of given rows: good rows, rejected rows, and the gate's report.

        Args:
            given: The rows of its one source, each column -> value, or the path of a file with
                them; with several sources, source -> rows.

        Raises:
            GivenNotWritable: rows cannot be written in the source's format.
            QueryFailed: Spark refuses the plan or a row.
        """
        if not isinstance(given, Mapping):
            given = dict.fromkeys(self.pipeline.spec.sources, given)
        return preview_rows(self.pipeline, given, Path.cwd(), self._log, self._environ)


def pipeline(
    name: str, environ: Mapping[str, str] = os.environ, log: Log = lambda _: None
) -> PipelineUnderTest:
    """A pipeline by its name, found where the command `tidemill` finds it.

    Raises:
        SpecError: its spec does not load.
        UsageError: there is no such pipeline.
    """
    # Its root does not matter, and has to be named.
    found = open_pipeline(name, {"TIDEMILL_ROOT": gettempdir(), **environ})
    return PipelineUnderTest(found, environ, log)
