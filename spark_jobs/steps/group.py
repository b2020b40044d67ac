"""A group: the ingests of several pipelines in one Spark application.

Each has a query, a session, a lease and a FAIR scheduler pool of its own, and ends with a report of
its own; one that fails leaves the others alone. Ten small pipelines then cost one JVM start.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_jobs.contract.report import Report
from spark_jobs.ledger.lease import hold
from spark_jobs.steps.ingest import ended
from spark_jobs.steps.step import Ended, Run, perform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ingest_group(runs: Sequence[Run]) -> list[Report]:
    """Take in what is available to each of several pipelines, all at once.

    Args:
        runs: One of each pipeline.

    Returns:
        The report of each, in their order.
    """
    from pyspark import InheritableThread

    from spark_jobs.engine.session import open_group_session

    shared = open_group_session([run.pipeline for run in runs])
    reports: dict[str, Report] = {}

    def work(run: Run) -> None:
        reports[run.pipeline.name] = perform("ingest", lambda one: _ingest(one, shared), run)

    threads = [InheritableThread(target=work, args=(run,), name=run.pipeline.name) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [reports[run.pipeline.name] for run in runs if run.pipeline.name in reports]


def _ingest(run: Run, shared: SparkSession) -> Ended:
    from spark_jobs.engine import ingest as engine
    from spark_jobs.engine.manner import Manner
    from spark_jobs.engine.session import session_within

    pipeline, lost = run.pipeline, threading.Event()
    manner = Manner(stop=lambda: "another process holds the lease" if lost.is_set() else None)
    # To leave the process, as an ingest of its own does, would end the others too.
    with hold(pipeline.layout.lease, step="ingest", run_id=run.run_id, on_loss=lost.set) as lease:
        session = session_within(shared, pipeline)
        found = engine.ingest(session, pipeline, lease, run.run_id, run.say, manner)
        lease.check()
    return ended(found)
