"""The unpublished increments of a pipeline, and the files that their batches read."""

from collections.abc import Sequence
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.increments.increment import Increment
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.ledger import InputFile, Ledger
from tidemill.spec.pipeline import Pipeline


class NothingToRedo(Refused):
    """Everything that was committed is published; carries `pipeline`."""


class NotRead(Refused):
    """A file that is not to count was read by no batch of the tail; carries `file`."""


def unpublished(snapshot: Snapshot) -> list[Increment]:
    """The increments of the live generation that the head target does not have, in their order.

    An increment whose event stands in the journal is one of them until the head target applied it.
    """
    live, visible = snapshot.generation, snapshot.visible
    in_order = (one for one in snapshot.in_order() if one.number not in visible)
    return [one for one in in_order if one.sealed.covers.generation == live]


def files_read(pipeline: Pipeline, first: int, last: int, wanted: Sequence[str]) -> list[InputFile]:
    """The files of some batches that are named, by their whole path or the end of it.

    Raises:
        NotRead: one of them was not read.
    """
    batches = Ledger(pipeline.layout, generation_of(pipeline)).batches(first, last)
    read = [file for batch in batches for file in batch.inputs]
    found = []
    for name in wanted:
        parts = Path(name).parts
        matching = [file for file in read if Path(file.path).parts[-len(parts) :] == parts]
        if not matching:
            raise NotRead(
                f"No batch of {first} to {last} has read a file '{name}'.",
                remedy="Name it by its path; which batches are held, and what they read: "
                f"tidemill status {pipeline.name}.",
                file=name,
            )
        found += matching
    return found
