"""A command as somebody types it, and the report that it leaves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.pipelines.pipeline_folder import PipelineFolder
from tests.support.processes import kill_group
from tidemill.contract import report as reports
from tidemill.contract.report import Report

TIDEMILL = Path(sys.executable).with_name("tidemill")


def tidemill(*arguments: str, environ: Mapping[str, str]) -> None:
    """Run a command to its end, which is to be a good one."""
    ended = subprocess.run(
        [TIDEMILL, *arguments], env=environ, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@contextmanager
def typed(*arguments: str, environ: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A command at work; whatever is left of it at the end is killed."""
    process = subprocess.Popen(
        [TIDEMILL, *arguments], env=environ, start_new_session=True, text=True
    )
    try:
        yield process
    finally:
        kill_group(process)


def report(flow: PipelineFolder, run_id: str) -> Report:
    """The report of a run's ingest."""
    found = reports.read(flow.layout.run(run_id), "ingest")
    assert found is not None
    return found
