"""Probes each source of a pipeline for new input."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tidemill.ledger.ledger import Batch
from tidemill.sources.files import probe as file_probe
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.spec import Source


def probe_sources(
    pipeline: Pipeline, batches: Sequence[Batch], environ: Mapping[str, str] = os.environ
) -> list[ProbeResult]:
    """A look at every source of a pipeline.

    Args:
        batches: All batches of the live generation, in order.
        environ: For the connections.

    Raises:
        Refused: what a source holds cannot be read without loss.
        TransientError: a source cannot be reached.
    """
    sources = pipeline.spec.sources
    return [
        probe_source(name, source, pipeline, batches, environ) for name, source in sources.items()
    ]


def probe_source(
    name: str,
    source: Source,
    pipeline: Pipeline,
    batches: Sequence[Batch],
    environ: Mapping[str, str],
) -> ProbeResult:
    """A look at one source."""
    if isinstance(source, FileSource):
        return file_probe.look(name, source, batches, pipeline.layout)
    if isinstance(source, KafkaSource):
        from tidemill.sources.kafka import probe as kafka_probe

        return kafka_probe.look(name, source, pipeline, batches, environ)
    return ProbeResult(name, new=None, unit="rows")
