"""Probes each source of a pipeline for new input, and reports on what was read."""

import os
from collections.abc import Mapping, Sequence

from tidemill.increments.snapshot import Snapshot
from tidemill.journal.recomputation import BatchRange
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.sources.due import Due
from tidemill.sources.kinds import open_sources
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.run_context import RunContext


def probe_sources(
    pipeline: Pipeline, batches: Sequence[Batch], environ: Mapping[str, str] = os.environ
) -> list[ProbeResult]:
    """Probe every source of a pipeline.

    Raises:
        Refused: what a source holds cannot be read without loss.
        TransientError: a source cannot be reached.
    """
    return [source.probe(batches) for source in open_sources(pipeline, environ)]


def versions_read_again(pipeline: Pipeline, batches: BatchRange) -> dict[str, int]:
    """Table source -> the version of its table that a recomputation of batches reads."""
    ledger = Ledger(pipeline.layout, batches.generation)
    last = ledger.batches(batches.last, batches.last)
    versions = {s.name: s.version_read_again(last[-1]) for s in open_sources(pipeline) if last}
    return {name: version for name, version in versions.items() if version is not None}


def due_of(pipeline: Pipeline, snapshot: Snapshot) -> list[Due]:
    """What is due in a pipeline since tables that it reads have changed, source by source.

    Raises:
        Refused: nothing says any more what has changed.
    """
    found = (source.due(snapshot) for source in open_sources(pipeline))
    return [one for one in found if one is not None]


def inspect(pipeline: Pipeline, batch: Batch) -> Batch:
    """Check the files that a batch has read: they may have arrived after the last probe.

    Returns:
        The batch with the rows of each file, counted without Spark.

    Raises:
        Refused: Spark misread a file, and the spec rates that `hold`.
    """
    sources = {source.name: source for source in open_sources(pipeline)}
    for name, source in sources.items():
        source.inspect([file for file in batch.inputs if file.source == name])
    counted = tuple(
        file.model_copy(update={"rows": sources[file.source].count(file)})
        if file.source in sources
        else file
        for file in batch.inputs
    )
    return batch.model_copy(update={"inputs": counted})


def report_sources(
    run: RunContext, batches: Sequence[Batch], written: Sequence[Batch]
) -> list[ProbeResult]:
    """After a query: the input that it read, as far as the ledger tells, and what remains.

    Args:
        run: The run; its log gets a line for each problem that the spec rates `warn`.
        batches: All of the generation.
        written: Those of the run.

    Raises:
        Refused: what was read has changed since, and the spec rates that `hold`.
    """
    reports = [source.report(batches, written, run.log) for source in open_sources(run.pipeline)]
    return [report for report in reports if report is not None]
