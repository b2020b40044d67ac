"""The payload of mode `append`: the sink's own files, as they are."""

from collections.abc import Sequence

import pyarrow as pa

from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Batch, Ledger
from tidemill.publish.audit import Audited
from tidemill.publish.delta.table_schema import born_schema, check_file, together
from tidemill.publish.payload import Payload, PayloadFile


def append_payload(
    ledger: Ledger,
    batches: Sequence[Batch],
    audited: Sequence[Audited],
    *,
    generation: str,
    note: GenerationNote,
    keys: tuple[str, ...],
) -> Payload:
    """The rows that an event adds to every target.

    Args:
        audited: All their files.
        generation: The generation that the rows belong to.
        note: The note of the generation that wrote them.
        keys: `output.keys`.

    Raises:
        SchemaChanged: a file holds other columns than its batch's code said, or two versions of
            the code within the event gave one column two types.
    """
    partition_by = tuple(note.partition_by)
    schemas = {b.start: born_schema(ledger.table_schema(b)) for b in batches}
    good = [one for one in audited if not one.file.rejected and one.file.rows]
    start_of = {batch.batch: batch.start for batch in batches}
    checked = set()
    for one in good:
        # For a format without a footer only the ledger says what its files hold.
        if one.footer is None:
            continue
        alike = (one.footer.schema.remove_metadata(), start_of[one.batch])
        if alike not in checked:
            checked.add(alike)
            check_file(one.path, one.footer, schemas[start_of[one.batch]], partition_by)
    # The columns of code that wrote no good row do not matter.
    starts = sorted({start_of[one.batch] for one in good}) or [max(schemas)]
    return Payload(
        generation=generation,
        schema=pa.schema(together([schemas[start] for start in reversed(starts)]).to_arrow()),
        partition_by=partition_by,
        mode=note.mode,
        keys=note.keys or keys,
        files=tuple(
            PayloadFile(
                one.path, one.file.rows, one.batch, one.file.partition, one.written, one.footer
            )
            for one in good
        ),
        offsets=batches[-1].offsets,
    )
