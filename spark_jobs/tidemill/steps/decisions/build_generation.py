"""Builds a generation beside the live one from what the sources hold."""

from dataclasses import replace

from tidemill.generations.build import GenerationBuild, lease_of
from tidemill.generations.verify import open_generation
from tidemill.increments.exclusions import excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import current, generation_of
from tidemill.ledger.flushes import flushes, put_flush
from tidemill.ledger.source_record import bind_sources
from tidemill.sources.retention import beginning, published_input
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file, put_initial_offsets
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.lease import hold
from tidemill.storage.run_context import RunContext


def fill_generation(run: RunContext, built: GenerationBuild) -> None:
    """Let the new generation read what is there, under a lease of its own.

    Args:
        built: What it is.

    Raises:
        TidemillError: as a live ingest does.
    """
    from tidemill.engine.run import ingest as engine
    from tidemill.engine.session import open_session

    building = replace(run.pipeline, generation=built.generation)
    session = open_session(building, "rebuild")
    folder = lease_of(building.layout, built)
    while True:
        with hold(folder, step="ingest", run_id=run.run_id) as lease:
            _begin(building)
            found = engine.ingest(session, replace(run.holding(lease), pipeline=building))
        # A budget bounds one query; here there is one after the other.
        done = found.stopped is None or not found.batches
        if done and not _flush_again(building) and not open_generation(building).due:
            # What is due by then is published of the other generation.
            return


def _flush_again(building: Pipeline) -> bool:
    """Raise the watermark to where a person has raised that of the live generation, if it is lower.

    What was closed by that is published, and would else be open again.
    """
    layout = building.layout
    asked = flushes(layout, current(layout))
    generation = open_generation(building)
    last = generation.committed
    if not asked or last < 0 or generation.unfinished:
        return False
    furthest = max(asked, key=lambda flush: flush.watermark_ms)
    if generation.checkpoint.commits[last].next_watermark_ms >= furthest.watermark_ms:
        return False
    again = furthest.model_copy(update={"batch": last + 1})
    return put_flush(layout, generation.name, again) == again


def _begin(building: Pipeline) -> None:
    """Note where Kafka sources begin, before the first query does."""
    layout, generation = building.layout, generation_of(building)
    snapshot = Snapshot(layout)
    _, first = published_input(snapshot, snapshot.generation, excluded(snapshot))
    begins = beginning(building, first)
    if begins:
        bind_sources(layout, generation, building.spec)
    for name, offsets in begins.items():
        put_initial_offsets(initial_offsets_file(layout, generation, name), offsets)
