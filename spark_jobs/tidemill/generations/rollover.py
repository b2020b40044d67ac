"""A rollover: a generation that goes on where another ends, with short logs of Spark's.

Spark reads the log of its sink and of each file source whole at every start, and writes them again
every so many batches. A new generation begins with an empty sink log, and with a source log
that has no more than Spark must know (`spark_logs.source_log_cut`). Batches, files and state are
those of the generation before.
"""

from collections.abc import Mapping

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.generations.fork import build_fork
from tidemill.generations.generation import Generation
from tidemill.journal.takeovers import lineage, next_generation
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.ranges_read import sources_by_ranges
from tidemill.spark_logs.compactible_log import compactible_log
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.storage.folders import claim_folder


class SourceLogUncut(Refused):
    """The checkpoint has a log of a source that cannot be cut; carries `source`."""


def past_limit(pipeline: Pipeline, name: str, last: int) -> str | None:
    """Why a generation is to be followed by a rollover; None while it is within its limits.

    Args:
        name: The generation.
        last: Its last batch.
    """
    most = pipeline.spec.rollover
    own = last - lineage(pipeline.layout, name)[name] + 1
    if most.after_batches is not None and own >= most.after_batches:
        return f"{name} has run {counted(own, 'batch', 'batches')}"
    # A source's log is never cut to less than the files of the last batch.
    if most.after_files is None or own < 1:
        return None
    for what, length in _lengths(pipeline, name).items():
        if length >= most.after_files:
            return f"{what} of {name} names {counted(length, 'file')}"
    return None


def shortened_sources(pipeline: Pipeline) -> set[str]:
    """The file sources whose log is cut: by names alone, no later reading of a file is told."""
    files = pipeline.spec.sources_of(FileSource)
    return {name for name, source in files.items() if not source.fileNameOnly}


def build_rollover(pipeline: Pipeline, generation: Generation) -> str:
    """Build a generation that goes on after the last batch of another; it is not live yet.

    Args:
        generation: The one to go on from, whose parts agree and whose batches are all published.

    Returns:
        The name of the new generation.

    Raises:
        SourceLogUncut: the checkpoint holds something of a source that is not known here.
        Refused: one of Spark's logs is torn or incomplete.
    """
    _refuse_unknown_logs(pipeline, generation)
    name = next_generation(pipeline.layout)
    # No other process builds it under the same name, not even one that lost its lease.
    claim_folder(pipeline.layout.checkpoint(name))
    build_fork(
        pipeline,
        generation,
        name,
        generation.committed + 1,
        shortened=shortened_sources(pipeline),
        same_code=True,
    )
    return name


def _lengths(pipeline: Pipeline, name: str) -> Mapping[str, int]:
    """The logs that a rollover would cut, each with the number of files of its batches."""
    layout, note = pipeline.layout, read_note(pipeline.layout, name)
    found = {}
    if note is not None and note.writes == "files":
        log = compactible_log(layout.sink(name) / METADATA_DIRECTORY)
        found["the sink's log"] = log.length
    for source in sorted(shortened_sources(pipeline)):
        log = compactible_log(layout.checkpoint(name) / "sources" / source)
        found[f"the log of source {source}"] = log.length
    return found


def _refuse_unknown_logs(pipeline: Pipeline, generation: Generation) -> None:
    checkpoint = generation.checkpoint
    planned = checkpoint.offsets[generation.committed].sources
    known = sources_by_ranges(pipeline.layout, generation.name)
    folders = checkpoint.path / "sources"
    for folder in sorted(folders.iterdir()) if folders.is_dir() else ():
        offset = planned.get(folder.name)
        of_files = isinstance(offset, dict) and "logOffset" in offset
        if folder.name in known or of_files or not any(folder.iterdir()):
            continue
        raise SourceLogUncut(
            f"{folder} is a log of source {folder.name} that Tidemill does not know how to cut.",
            remedy=f"Nothing was changed. To be asked no more, set rollover: {{after_files: null, "
            f"after_batches: null}} in {pipeline.spec_file}.",
            source=folder.name,
        )
