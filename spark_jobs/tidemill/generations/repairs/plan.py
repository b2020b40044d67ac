"""Plans the repairs after which a generation's logs agree again."""

from tidemill.contract.errors import Refused
from tidemill.generations.repairs.by_batch import KnownBatches
from tidemill.generations.repairs.by_file import file_repairs
from tidemill.generations.repairs.by_record import LostRecords
from tidemill.generations.repairs.repair import Repair
from tidemill.generations.repairs.tail import Tail
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.ledger import Ledger
from tidemill.spec.pipeline import Pipeline


class NothingBound(Refused):
    """A pipeline has no generation whose logs could be repaired; carries `note`."""


def planned_repairs(pipeline: Pipeline) -> list[Repair]:
    """Plans a repair; nothing is changed.

    Args:
        pipeline: The pipeline, of which no query runs.

    Raises:
        NothingBound: its query was never started.
        EntryUnknown: something is torn or missing that nothing else tells.
    """
    layout, name = pipeline.layout, generation_of(pipeline)
    note = read_note(layout, name)
    if note is None:
        raise NothingBound(
            f"{layout.note(name)} is missing: nothing binds a checkpoint to {pipeline.name}.",
            remedy=f"Where it was run before, restore it from a backup; else: tidemill run "
            f"{pipeline.name}.",
            note=layout.note(name),
        )
    lost = [*LostRecords(pipeline, note).repairs()]
    if lost:
        # What the ledger says of the logs can be asked once it is whole.
        return lost
    ledger = Ledger(layout, name)
    files = [n for n, source in pipeline.spec.sources.items() if source.LISTS_FILES]
    return [
        *file_repairs(ledger, note),
        *KnownBatches(ledger, note).repairs(),
        *Tail(ledger, note, files).repairs(),
    ]
