"""What is due in a pipeline since tables upstream were computed again: in words, and for a page."""

from tidemill.contract.errors import TidemillError
from tidemill.increments.snapshot import Snapshot
from tidemill.sources.due import Due
from tidemill.sources.probe import due_of
from tidemill.spec.pipeline import open_pipeline


def read_due(name: str) -> tuple[Due, ...]:
    """What is due in a pipeline; none where its spec, or the table upstream, cannot be read.

    What is wrong there is for the doctor to say.
    """
    try:
        pipeline = open_pipeline(name)
        return tuple(due_of(pipeline, Snapshot(pipeline.layout)))
    except TidemillError:
        return ()


def due_in_words(name: str, due: Due) -> str:
    """What is due because of one source, and the command that computes it again."""
    command = f"tidemill rebuild {name} --reason TEXT" if due.refusal else f"tidemill follow {name}"
    refused = f"; no backfill follows: {due.refusal}" if due.refusal else ""
    computes = f"; computed by: {command}" if due.partitions is not None or due.refusal else ""
    versions = ", ".join(map(str, due.versions))
    return f"due since version {versions} of {due.upstream}: {due}{refused}{computes}"
