"""The queries that run: `tidemill stream --list`, `--status`, `--stop`, `--explain`."""

import time

from tidemill.cli.screen import Screen
from tidemill.cli.zones import time_shown, zone_of
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.ledger.running_queries import Running, RunningQuery, running, running_anywhere
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.root import existing_root
from tidemill.storage.lease import STREAM, current_holder

POLL_SECONDS = 0.2
COLUMNS = (
    "pipeline",
    "query id",
    "run id",
    "pid",
    "since",
    "trigger",
    "last batch",
    "rows/s",
)


class NoRunningQuery(UsageError):
    """No query of the pipeline runs; carries `pipeline`."""


def listed(screen: Screen, *, utc: bool) -> None:
    """Every running query under the root."""
    found = running_anywhere(existing_root())
    if screen.as_json:
        screen.document([query.model_dump(mode="json", exclude={"plan"}) for query in found])
    elif found:
        screen.table("", COLUMNS, (_line(query, utc) for query in found))
    else:
        screen.line("no query is running")


def status(pipeline: Pipeline, screen: Screen, *, utc: bool) -> ExitCode:
    """A pipeline's query in Spark's words and ours.

    Raises:
        NoRunningQuery: none runs.
    """
    query = the_one(pipeline)
    if screen.as_json:
        screen.document(query.model_dump(mode="json", exclude={"plan"}))
        return ExitCode.DONE
    progress = query.last_progress or {}
    screen.line(f"{query.pipeline}: {query.status.get('message', 'starting')}")
    screen.line(f"query {query.query_id}, run {query.query_run_id}")
    since = time_shown(query.since, zone_of(query.pipeline, utc))
    screen.line(
        f"process {query.process.pid} on {query.process.host} since {since}, "
        f"run id {query.run_id}, trigger {query.trigger}"
    )
    screen.line(
        f"last batch {_batch(query)}, {counted(query.batches, 'batch', 'batches')} and "
        f"{counted(query.rows, 'row')} since then, {_speed(query)} rows/s"
    )
    screen.line(query.how_far)
    if progress:
        screen.line(
            f"last progress at {progress['timestamp']}: batch {progress['batchId']}, "
            f"{counted(progress['numInputRows'], 'row')} in {progress['batchDuration']:,} ms"
        )
    return ExitCode.DONE


def stop(pipeline: Pipeline, screen: Screen) -> ExitCode:
    """Ask a pipeline's query to end after its batch, and wait until its process let go.

    Raises:
        NoRunningQuery: none runs.
    """
    query = the_one(pipeline)
    place = Running(pipeline.layout, query.run_id)
    place.ask_to_stop()
    screen.line(f"{query.run_id}: asked to stop, waiting for its batch to end")
    while _at_work(pipeline, query):
        time.sleep(POLL_SECONDS)
    if query.process.gone and place.document.exists():
        place.clear()
        screen.line(f"{query.run_id}: its process is gone")
    else:
        screen.line(f"{query.run_id}: stopped")
    if screen.as_json:
        screen.document(
            {"pipeline": pipeline.name, "run_id": query.run_id, "query_id": query.query_id}
        )
    return ExitCode.DONE


def explain(pipeline: Pipeline, screen: Screen) -> ExitCode:
    """The plan of a pipeline's query: that of its last batch, or of one that is not started."""
    found = [query for query in running(pipeline.layout) if query.plan]
    if found:
        plan = str(found[0].plan)
    else:
        from tidemill.steps.stream import explain as planned

        with screen.busy("explain …"):
            plan = planned(pipeline)
    if screen.as_json:
        screen.document({"pipeline": pipeline.name, "running": bool(found), "plan": plan})
    else:
        screen.line(plan)
    return ExitCode.DONE


def _at_work(pipeline: Pipeline, query: RunningQuery) -> bool:
    """Whether a query's process still runs it, or holds the lease that it runs under."""
    if any(one.query_run_id == query.query_run_id for one in running(pipeline.layout)):
        return True
    holder = current_holder(pipeline.layout.lease)
    if holder is None or holder.process.gone or holder.step not in (STREAM, "ingest"):
        return False
    return (holder.process, holder.run_id) == (query.process, query.run_id)


def the_one(pipeline: Pipeline) -> RunningQuery:
    found = running(pipeline.layout)
    if not found:
        raise NoRunningQuery(
            f"No query of {pipeline.name} is running.",
            remedy=f"Start one: tidemill stream {pipeline.name}.",
            pipeline=pipeline.name,
        )
    return found[-1]


def _line(query: RunningQuery, utc: bool) -> tuple[object, ...]:
    return (
        query.pipeline,
        query.query_id,
        query.run_id,
        query.process.pid,
        time_shown(query.since, zone_of(query.pipeline, utc)),
        query.trigger,
        _batch(query),
        _speed(query),
    )


def _batch(query: RunningQuery) -> str:
    return "none" if query.last_batch < 0 else str(query.last_batch)


def _speed(query: RunningQuery) -> str:
    return "unknown" if query.rows_per_second is None else f"{query.rows_per_second:,.0f}"
