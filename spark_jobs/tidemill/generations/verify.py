"""Verifies that a generation's note, checkpoint, sink log and ledger belong together.

Each mismatch here is a way in which Spark succeeds and rows are gone (failure-modes rows 3 to 14).
All of it is read from files; no JVM.
"""

from functools import partial

from tidemill.contract.errors import Refused
from tidemill.generations.build import built_by_erasure
from tidemill.generations.generation import Generation
from tidemill.generations.rows_read import inspected
from tidemill.generations.verify_spec import verify_intervals, verify_output
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.generation_note import GenerationNote, read_note
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.manifests import AttemptLog
from tidemill.ledger.sink_reader import read_committed
from tidemill.spark_logs.checkpoint import read_checkpoint
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.erasures import ERASE
from tidemill.storage.root_identity import verify_born_here
from tidemill.storage.unfinished_rewrite import refuse_unfinished_rewrite


class CheckpointLost(Refused):
    """Sink or commits have batches that the checkpoint never planned: lost, or set back.

    Spark would plan them again, with other input, and the sink would skip them.
    """


class CommitsLost(Refused):
    """The checkpoint planned batches after one that it has not committed; carries `batch`."""


class CheckpointForeign(Refused):
    """The checkpoint is another query's; carries `expected` and `found`."""


class SinkLost(Refused):
    """The checkpoint has committed batches that the sink's log does not hold."""


class SinkElsewhere(Refused):
    """The sink directory is not where the generation was born; carries `born` and `now`."""


class GenerationUnbound(Refused):
    """There is a checkpoint or a sink, and no note that binds them."""


class LedgerAhead(Refused):
    """Our ledger knows batches that the checkpoint has not committed: it was set back."""


def rebuild_of(name: str) -> str:
    """The command that needs neither the note nor the checkpoint of a live generation."""
    return f"tidemill rebuild {name} --reason TEXT"


def open_generation(pipeline: Pipeline, name: str | None = None) -> Generation:
    """Read a generation and prove that its parts belong together.

    The doctor looks without a lease. Parts that were read while another run went from one batch to
    the next belong to two moments and prove nothing: then they are read again.

    Args:
        name: The name of the generation; by default the one that steps work on.

    Raises:
        Refused: they don't; the class says how, the remedy what to do.
    """
    generation = _read(pipeline, name or generation_of(pipeline))
    try:
        _verify(pipeline, generation)
    except Refused:
        if not _moved(pipeline, generation):
            raise
        return open_generation(pipeline, name)
    return generation


def _read(pipeline: Pipeline, name: str) -> Generation:
    layout = pipeline.layout
    refuse_unfinished_rewrite(layout.home, ERASE if built_by_erasure(layout, name) else None)
    note = read_note(layout, name)
    checkpoint = read_checkpoint(layout.checkpoint(name))
    sink = layout.sink(name)
    if note is not None and note.sink != sink:
        raise SinkElsewhere(
            f"{layout.note(name)} binds the sink {note.sink}, and it is now {sink}.",
            remedy="Move TIDEMILL_ROOT back: Spark's log holds absolute paths and reads as empty. "
            f"Or have them rewritten for the new place: tidemill relocate {layout.name} --apply",
            born=note.sink,
            now=sink,
        )
    if note is not None:
        verify_born_here(layout, note.root, layout.note(name))
    ledger = Ledger(layout, name, partial(inspected, pipeline))
    return Generation(name, note, checkpoint, read_committed(note, sink), ledger)


def _moved(pipeline: Pipeline, generation: Generation) -> bool:
    then, now = generation.checkpoint, read_checkpoint(generation.checkpoint.path)
    return (
        now.latest_offsets != then.latest_offsets
        or now.latest_commit != then.latest_commit
        or read_note(pipeline.layout, generation.name) != generation.note
    )


def _verify(pipeline: Pipeline, generation: Generation) -> None:
    note, log = generation.note, generation.log
    if note is None:
        _verify_unbound(pipeline, generation)
        return
    verify_intervals(pipeline, note)
    verify_output(pipeline, note)
    _verify_plans(pipeline, generation)
    _verify_query(pipeline, generation, note)
    if isinstance(log, AttemptLog):
        log.verify_planned(generation.checkpoint.offsets)
    _verify_ledger(pipeline, generation)
    _verify_commits(pipeline, generation, note)
    _verify_sink(pipeline, generation)


def _verify_unbound(pipeline: Pipeline, generation: Generation) -> None:
    layout = pipeline.layout
    written, known = generation.written, generation.ledger.latest()
    if max(written, known) >= 0 or generation.checkpoint.query_id is not None:
        raise GenerationUnbound(
            f"{layout.note(generation.name)} is missing, but checkpoint, sink or ledger exist.",
            remedy="Restore it from a backup; nothing else says that they belong together. Without "
            f"one compute everything from the beginning: {rebuild_of(layout.name)}.",
            note=layout.note(generation.name),
        )


def _verify_plans(pipeline: Pipeline, generation: Generation) -> None:
    layout, place, log = pipeline.layout, generation.checkpoint.path, generation.log
    planned, written, committed = generation.planned, generation.written, generation.committed
    if planned < max(written, committed):
        raise CheckpointLost(
            f"{place} has planned batches up to {planned}, but up to {max(written, committed)} are "
            f"written or committed: it would plan them again, and {log.sink} would skip them.",
            remedy=f"After a power cut: tidemill checkpoint repair {layout.name}. If not, restore "
            f"{place} from the newest backup. To start over move {layout.home} away, then: "
            f"tidemill drop {layout.name}",
            checkpoint=place,
            planned=planned,
            written=written,
            committed=committed,
        )


def _verify_query(pipeline: Pipeline, generation: Generation, note: GenerationNote) -> None:
    place, found = generation.checkpoint.path, generation.checkpoint.query_id
    if found is not None and found != note.query_id:
        raise CheckpointForeign(
            f"{place} belongs to query {found}, not to {note.query_id}.",
            remedy=f"Restore the checkpoint that {pipeline.layout.note(generation.name)} names. "
            f"Without one compute everything from the beginning: {rebuild_of(pipeline.name)}.",
            expected=note.query_id,
            found=found,
        )


def _verify_ledger(pipeline: Pipeline, generation: Generation) -> None:
    place, committed = generation.checkpoint.path, generation.committed
    known = generation.ledger.latest()
    if known > committed:
        raise LedgerAhead(
            f"{place} ends at batch {committed}, the ledger at {known}: a commit was lost, or the "
            "checkpoint was set back.",
            remedy=f"The ledger may give it back: tidemill checkpoint repair {pipeline.name} shows "
            f"how. Where it refuses, restore the newest backup of {place}.",
            committed=committed,
            ledger=known,
        )


def _verify_commits(pipeline: Pipeline, generation: Generation, note: GenerationNote) -> None:
    place = generation.checkpoint.path
    planned, committed = generation.planned, generation.committed
    # Continuous epochs are planned ahead of their commits, and dropped at the next start.
    if planned > committed + 1 and not note.continuous:
        raise CommitsLost(
            f"{place} has planned batch {planned} and not committed batch {committed + 1}, which "
            "would then never be missed.",
            remedy=f"After a power cut: tidemill checkpoint repair {pipeline.name}. Or restore "
            f"{place / 'commits'} from the newest backup.",
            batch=committed + 1,
            planned=planned,
        )


def _verify_sink(pipeline: Pipeline, generation: Generation) -> None:
    place, log = generation.checkpoint.path, generation.log
    written, committed = generation.written, generation.committed
    if written < committed:
        raise SinkLost(
            f"{place} has committed batch {committed}, but {log.sink} holds batches up to "
            f"{written}.",
            remedy=f"After a power cut: tidemill checkpoint repair {pipeline.name}. Or restore "
            f"all of {log.sink} from a backup.",
            committed=committed,
            written=written,
        )
