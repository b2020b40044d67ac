"""Checks, before anything is computed, that every target can replace rows."""

from collections.abc import Mapping

import pyarrow as pa

from tidemill.file_formats.keyed_rows import KeyedFile, doubled
from tidemill.increments.increments import Sealed
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_kinds import EVENT_OF
from tidemill.publish.database.session import KeyRepeated
from tidemill.publish.net_payload import payload_schema
from tidemill.publish.python_target import PythonTarget
from tidemill.publish.target import SwapUnfit
from tidemill.spec import targets as given
from tidemill.spec.pipeline import Pipeline


def unable_to_swap(pipeline: Pipeline) -> Mapping[str, str]:
    """The targets that cannot, and why.

    Args:
        pipeline: Classes that its spec names are imported.

    Raises:
        SpecError: such a class cannot be.
    """
    found = {}
    for target in pipeline.spec.publish:
        why = _why(target, pipeline)
        if why is not None:
            found[target.name] = why
    return found


def refuse_backfill(pipeline: Pipeline) -> None:
    """Refuse what would replace rows, before it starts.

    Raises:
        SwapUnfit: a target cannot, so that it would stand still at that event for ever.
        SpecError: a target's class cannot be imported.
    """
    unable = unable_to_swap(pipeline)
    if unable:
        name, why = next(iter(unable.items()))
        raise SwapUnfit(
            f"{name} cannot put rows in the place of others: {why}.",
            remedy="Fix it, or take it out of `publish`; nothing was computed or published.",
            targets=tuple(unable),
        )


def refuse_repeated_keys(pipeline: Pipeline, sealed: Sealed) -> None:
    """Refuse rows that were computed again and that a table with keys could not take.

    Among live rows with one key, the later batch's counts; recomputed rows are one batch.
    Asked before it stands in the journal, since that target would stand still there for ever.

    Raises:
        KeyRepeated: a key is there twice.
    """
    output = pipeline.spec.output
    upserts = [target.name for target in pipeline.spec.publish if target.upserts(output.mode)]
    if (
        not upserts
        or sealed.recomputation is None
        or EVENT_OF[sealed.recomputation.kind] == "replace"
        or sealed.net
    ):
        return
    ledger = Ledger(pipeline.layout, sealed.generation)
    batches = ledger.batches(sealed.first, sealed.last)
    schema = payload_schema(ledger, batches)
    files = [
        KeyedFile(ledger.sink / file.path, file.partition)
        for batch in batches
        for file in batch.outputs
        if file.rows and not file.rejected
    ]
    found = doubled(files, pa.schema([schema.field(key) for key in output.keys]))
    if found is not None:
        raise KeyRepeated(
            f"{found.rows} rows that were computed again have one key ({', '.join(output.keys)}), "
            f"and nothing says which of them is the later one; {upserts[0]} keeps one row a key.",
            remedy="Keep one row a key in the transform, or let the target append; nothing was "
            "published.",
            keys=output.keys,
            targets=tuple(upserts),
        )


def _why(target: given.Target, pipeline: Pipeline) -> str | None:
    if isinstance(target, given.PythonTarget):
        # Only its class knows.
        swaps = PythonTarget(target, pipeline, 0, lambda _: None).swaps
        return None if swaps else f"{target.target} does not declare `swaps = True`"
    return target.cannot_swap(pipeline.spec.output)
