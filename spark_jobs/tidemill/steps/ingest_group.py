"""A group: the ingests of several pipelines in one Spark application.

Each has a query, a session, a lease and a FAIR scheduler pool of its own, and ends with a report of
its own; one that fails leaves the others alone. Ten small pipelines then cost one JVM start.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from traceback import format_exc
from typing import TYPE_CHECKING

from tidemill.contract.errors import LeaseLost, SpecError, TidemillError
from tidemill.contract.report import Report, backlog_bytes, read
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.parts.live_ingest import ended
from tidemill.steps.parts.run import Ended, StepFunction, perform
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def at_once(cores: int | None) -> int:
    """How many pipelines of a group are at work at the same time.

    Spark gives a new Python worker ten seconds to start, and no setting changes that. Where more
    start together than the machine has cores for, some need longer and their pipelines fail.

    On a cluster too the driver's machine counts, not the executors: Spark gives those no more tasks
    than they have cores, however many pipelines wait, while each pipeline's plan, callbacks and
    memory are the driver's. A large cluster would let more of them in than a small driver bears.

    Args:
        cores: The cores of the driver's machine; None where they are unknown.
    """
    return max(4, 2 * (cores or 1))


def ingest_group(runs: Sequence[RunContext]) -> list[Report]:
    """Take in what is available to each of several pipelines, several at the same time.

    Args:
        runs: One of each pipeline.

    Returns:
        The report of each, in their order.

    Raises:
        SpecError: they differ in `spark`, of which an application has one.
    """
    for run in runs[1:]:
        refuse_other_application(runs[0].pipeline, run.pipeline)
    from pyspark import InheritableThread

    from tidemill.engine.session import open_group_session

    folders = [run.pipeline.layout.run(run.run_id) for run in runs]
    try:
        shared = open_group_session([run.pipeline for run in runs], backlog_bytes(folders))
    except TidemillError as error:
        # Each ends with it, as it would alone.
        return [perform("ingest", _fails_with(error), run) for run in runs]
    leaving = threading.Event()

    def together(members: Sequence[RunContext], most: int) -> None:
        waiting = iter(members)

        def work() -> None:
            # What the JVM's thread of this one has looked up for a member, it knows for the next.
            for run in waiting:
                if leaving.is_set():
                    return
                try:
                    perform("ingest", lambda one: _ingest(one, shared, leaving), run)
                except Exception:  # noqa: BLE001 - the report says what it was
                    run.log(format_exc())

        threads = [InheritableThread(target=work) for _ in range(min(most, len(members)))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            # The process is to end, and would wait for them until all their input is taken.
            leaving.set()
            raise

    together(runs, at_once(os.cpu_count()))
    reports = [read(folder, "ingest") for folder in folders]
    # Nothing else of the group is at work now, so that their workers start sooner.
    together([run for run, one in zip(runs, reports, strict=True) if workers_late(one)], 1)
    found = [read(folder, "ingest") for folder in folders]
    return [report for report in found if report is not None]


def _fails_with(error: TidemillError) -> StepFunction:
    def step(_: RunContext) -> Ended:
        raise error

    return step


def workers_late(report: Report | None) -> bool:
    """Whether an ingest failed because a Python worker did not start in time."""
    error = None if report is None else report.error
    return error is not None and "Python worker failed to connect back" in error["what"]


def refuse_other_application(first: Pipeline, other: Pipeline) -> None:
    """Refuse a pipeline whose Spark application would be another one.

    Args:
        first: The pipeline with the application's settings.

    Raises:
        SpecError: they differ in `spark`, of which an application has one.
    """
    if other.spec.spark != first.spec.spark:
        raise SpecError(
            f"{other.spec_file}: spark differs from that of {first.name}, and both are to run "
            "in one Spark application.",
            remedy="Make it equal in both specs, or run each alone.",
            path=other.spec_file,
            field="spark",
        )


def _ingest(run: RunContext, shared: SparkSession, leaving: threading.Event) -> Ended:
    from tidemill.engine.run import ingest as engine
    from tidemill.engine.run.options import RunOptions
    from tidemill.engine.session import session_within

    lost: list[LeaseLost] = []

    def stop() -> str | None:
        if lost:
            return "its lease is lost"
        return "the process is to end" if leaving.is_set() else None

    options = RunOptions(stop=stop)
    # To leave the process, as an ingest of its own does, would end the others too.
    with run.hold("ingest", on_loss=lost.append) as held:
        session = session_within(shared, run.pipeline)
        found = engine.ingest(session, held, options)
        held.lease.check()
    return ended(found)
