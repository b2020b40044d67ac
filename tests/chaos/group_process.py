"""What the one Spark application of a campaign's pipelines does otherwise than a user's."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pyspark import InheritableThread

from tidemill.contract.report import ExitCode, Outcome, read
from tidemill.engine.session import open_group_session, session_within
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps import ingest_group
from tidemill.steps.ingest import ingest
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext
from tidemill.toolchain import spark_conf

# Spark's logs are compacted, and what has expired of them is deleted, within a run of few batches.
LIMITS = {
    "spark.sql.streaming.fileSink.log.compactInterval": "3",
    "spark.sql.streaming.fileSink.log.cleanupDelay": "0",
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
}
# At least two compact files have to stay: Spark takes its interval from the two newest. With fewer,
# a driver that is killed among its deletions leaves two that are not neighbours; the next one then
# writes an entry where a compact file belongs, and later all before it is deleted.
RETAINED_BATCHES = 6


def prepare_group() -> None:
    """Let all pipelines be at work at the same time, so that a kill hits each of them.

    None of them has a Python function, so that no workers have to start together.
    """
    spark_conf.RETAINED_BATCHES = RETAINED_BATCHES
    ingest_group.at_once = lambda cores: 10
    options = " ".join(f"--conf {name}={value}" for name, value in LIMITS.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{options} pyspark-shell"


def backfill_group(names: Sequence[str], run_id: str) -> int:
    """Compute what the runs ask for, of all pipelines at the same time in one application."""
    pipelines = [open_pipeline(name) for name in names]
    shared = open_group_session(pipelines, 0)

    def work(pipeline: Pipeline) -> None:
        session_within(shared, pipeline)
        perform("ingest", ingest, RunContext(pipeline, run_id, print))

    threads = [InheritableThread(target=work, args=(one,)) for one in pipelines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [read(one.layout.run(run_id), "ingest") for one in pipelines]
    fine = all(one and one.outcome in (Outcome.DONE, Outcome.SKIPPED) for one in found)
    return int(ExitCode.DONE if fine else ExitCode.FAILED)
