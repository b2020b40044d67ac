"""What the sources of a pipeline need before and after its query."""

from pyspark.sql import SparkSession

from tidemill.contract.errors import TidemillError
from tidemill.engine.sources.static_inputs import Statics
from tidemill.journal.takeovers import generation_of
from tidemill.sources.kinds import open_source, open_sources
from tidemill.sources.probe_result import ProbeResult, refuse_held
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.run_context import LeasedRun


def fetch_input(run: LeasedRun) -> None:
    """Before everything else: bring what waits in other places to where the query reads it.

    Raises:
        Refused: it cannot be had.
        TransientError: a place cannot be reached.
    """
    for source in open_sources(run.pipeline):
        source.fetch(run)


def make_ready(
    session: SparkSession, run: LeasedRun, probes: list[ProbeResult], statics: Statics
) -> list[ProbeResult]:
    """Before a query starts: pass over accepted losses, write down what will be read.

    Args:
        run: The run, whose start of this epoch is in the ledger.
        probes: The probe of every source, under the lease.
        statics: Static input -> its rows.

    Returns:
        The probe of every source, a new one where something was passed over.

    Raises:
        Refused: something would be lost that the spec rates `hold` and no person accepted.
    """
    pipeline = run.pipeline
    if any(result.passes_over_loss for result in probes):
        # A pipeline without Kafka needs no client of it.
        from tidemill.engine.run.pass_over_loss import pass_over

        pass_over(session, run, probes, statics)
        probes = [
            open_source(pipeline, result.source).probe(()) if result.passes_over_loss else result
            for result in probes
        ]
        refuse_held(problem for result in probes for problem in result.problems)
    for result in probes:
        open_source(pipeline, result.source).record_query(run, result)
    return probes


def verify_unchanged(pipeline: Pipeline) -> None:
    """After a query: verify that its sources are still those that it began with.

    Raises:
        Refused: a source is another one, or gone.
        TransientError: a source cannot be reached.
    """
    for source in open_sources(pipeline):
        source.verify_query(generation_of(pipeline))


def explained(pipeline: Pipeline, failure: TidemillError) -> TidemillError:
    """A failed query's error, or the problem of a source that caused it."""
    for source in open_sources(pipeline):
        reason = source.explain(failure)
        if reason is not None:
            reason.__cause__ = failure
            return reason
    return failure
