"""Erase: the rows of a condition leave a pipeline for good.

An erasure's document comes first: from it on everybody else is refused, and the engine leaves the
rows out of whatever it computes. A pipeline with state then reads all its input again, and what it
had before goes. For any other, each file of rows is written again without them, the books
name the new files, the tables show them, the old ones are removed; and at last all that is below
the pipeline's folder is looked through once more. One that was killed is finished by the same
command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.os_user import os_user
from tidemill.generations.build import builds_of_erasure, lease_of
from tidemill.increments.snapshot import Snapshot
from tidemill.publish.delta.erasure import forget_files, live_paths, replace_files
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.checks import refuse_missing_reason
from tidemill.steps.upkeep.erase.books import Books
from tidemill.steps.upkeep.erase.condition import Condition, new_salt, words_pattern
from tidemill.steps.upkeep.erase.find import find, in_sink
from tidemill.steps.upkeep.erase.pages import pages_of
from tidemill.steps.upkeep.erase.past import ALWAYS, Past, forget
from tidemill.steps.upkeep.erase.plan import ErasePlan, plan_erase
from tidemill.steps.upkeep.erase.rebuild import rebuild_without
from tidemill.steps.upkeep.erase.remote_rows import (
    count_past,
    count_remote,
    erase_remote,
    forget_past,
)
from tidemill.steps.upkeep.erase.row_file import write_without
from tidemill.steps.upkeep.erase.words import take_out
from tidemill.steps.upkeep.leftover import remove
from tidemill.steps.upkeep.scratch import scratch_generations
from tidemill.storage import documents
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.erasures import (
    ERASE,
    Erased,
    Erasure,
    end_of_erasure,
    erasure_file,
    newest_erasure,
)
from tidemill.storage.lease import hold
from tidemill.storage.run_context import LeasedRun, RunContext
from tidemill.storage.sync import put_whole, sync_folder

PATIENCE_SECONDS = 5.0


class NotErased(Refused):
    """Files still hold rows or values after an erasure; carries `pipeline`, `files`, `targets`."""


class OtherRowsRemain(Refused):
    """Rows that did not come of the named sources hold the values; carries `pipeline`, `files`."""


class ReasonNamesPerson(UsageError):
    """A reason repeats a value that is to be erased; carries `field`."""


def erase(
    run: RunContext,
    condition: Condition,
    *,
    by: str,
    reason: str,
    release: bool = False,
    accept_loss: bool = False,
) -> ErasePlan:
    """Erase rows, or go on with what was interrupted.

    Args:
        by: Who decides.
        reason: Why; neither may name the person.
        release: Whether a table that was read again is published though the gate holds it.
        accept_loss: Whether it is read again without input that is gone.

    Returns:
        What was done.

    Raises:
        LeaseHeld: a process writes to the pipeline, or builds a generation of it.
        NotErasable: as `plan_erase`; nothing was changed.
        NotErased: something still holds rows; everybody else stays refused.
        ErasureHeld: the gate holds the table that was read again; likewise.
        OtherRowsRemain: rows of other sources hold the values; the erasure is finished.
    """
    refuse_missing_reason("erasure", by=by, reason=reason)
    _refuse_naming(condition, by=by, reason=reason)
    layout = run.layout
    with ExitStack() as leases:
        # That of its own generation it takes when it fills it.
        own = {lease_of(layout, one) for one in builds_of_erasure(layout)}
        for build in sorted({*layout.generations.glob("*.lease")} - own):
            leases.enter_context(
                hold(build, step=ERASE, run_id=run.run_id, patience=PATIENCE_SECONDS)
            )
        held = leases.enter_context(run.hold(ERASE, patience=PATIENCE_SECONDS))
        plan = plan_erase(run.pipeline, condition, accept_loss=accept_loss)
        if not plan.needed:
            return plan
        with disk_errors(layout.home):
            done = plan.begun or _begin(held, condition, by=by, reason=reason)
            others: tuple[Path, ...] = ()
            if plan.rebuilds:
                past = _read_again(held, plan, done, release=release, accept_loss=accept_loss)
                others = _forget(held, past, condition)
            else:
                _carry_out(held, plan, condition, done.number)
                left = find(layout, condition).paths
                _prove(run.pipeline, left, count_remote(run.pipeline, condition))
            end = Erased(
                rows=plan.rows,
                rejected=plan.rejected,
                files=len(plan.found.rows),
                accepted_loss=accept_loss,
                at=run.clock(),
            )
            documents.put_if_absent(end_of_erasure(layout.home, done.number), end)
    if others:
        raise _others_remain(layout, condition, others)
    return plan


def _read_again(
    run: LeasedRun, plan: ErasePlan, erasure: Erasure, *, release: bool, accept_loss: bool
) -> Past:
    """Replace everything by what the input gives without the rows; what is past then."""
    for path in (*plan.found.waste, *plan.found.pages):
        # A power cut may have torn what the tables are read by.
        run.lease.check()
        _remove(path)
    live = rebuild_without(run, erasure, release=release, accept_loss=accept_loss)
    run.lease.check()
    forget_past(run.pipeline, run.epoch)
    return Past.before(run.layout, live)


def _forget(run: LeasedRun, past: Past, condition: Condition) -> tuple[Path, ...]:
    """Remove what is past.

    Returns:
        The files whose rows hold the values all the same, as they came of other sources.
    """
    layout = run.layout
    forget(run, past)
    for path in find(layout, condition).words:
        run.lease.check()
        take_out(path, condition)
    layout.status.unlink(missing_ok=True)
    found = find(layout, condition)
    rows = {one.path for one in found.rows if not past.has(one.path)}
    left = {*past.files(), *(one for one in found.paths if not past.keeps(one))}
    _prove(run.pipeline, sorted(left), count_past(run.pipeline, str(past.live)))
    return tuple(sorted(rows))


def _others_remain(
    layout: Layout, condition: Condition, files: tuple[Path, ...]
) -> OtherRowsRemain:
    return OtherRowsRemain(
        f"Rows of {', '.join(condition.sources)} are erased from {layout.name}. Others hold the "
        f"values too, in {counted(len(files), 'file')}, the first of them {files[0]}.",
        remedy="Erase them where they come from: name that source with --source as well.",
        pipeline=layout.name,
        files=tuple(map(str, files)),
    )


def _carry_out(run: LeasedRun, plan: ErasePlan, condition: Condition, number: int) -> None:
    layout, found = run.layout, plan.found
    for leftover in scratch_generations(Snapshot(layout), ALWAYS):
        run.lease.check()
        remove(layout, leftover)
    for path in found.waste:
        # Before any file is written: a power cut may have torn one that is written again.
        run.lease.check()
        _remove(path)
    rows = [one for one in found.rows if one.path.exists()]
    live = live_paths(layout.table) | live_paths(layout.rejected)
    new: dict[Path, Path] = {}
    for one in rows:
        if one.path in live or in_sink(layout, one.path):
            run.lease.check()
            new[one.path] = write_without(one, condition, number, layout)
    books = Books(layout, new, number)
    for page in (*pages_of(layout, books.increments), *found.pages):
        run.lease.check()
        page.unlink(missing_ok=True)
    for document in books.rewrites():
        run.lease.check()
        put_whole(document.file, document.text)
    gone = {one.path for one in rows}
    hashes = {seq: event.files_hash for seq, event in books.events()}
    for table in (layout.table, layout.rejected):
        run.lease.check()
        if any(path.is_relative_to(table) for path in (*gone, *found.words)):
            said = {"tidemill.erasure": str(number), "tidemill.run_id": run.run_id}
            replace_files(layout, table, new, run.epoch, said)
            forget_files(layout, table, gone, hashes)
    run.lease.check()
    erase_remote(run.pipeline, condition, run.epoch, new, hashes)
    for path in found.words:
        run.lease.check()
        take_out(path, condition)
    layout.status.unlink(missing_ok=True)
    for path in sorted(gone):
        run.lease.check()
        _remove(path)


def _prove(pipeline: Pipeline, found: Iterable[Path], remote: Mapping[str, int]) -> None:
    left = [*map(str, found)]
    held = {name: number for name, number in remote.items() if number}
    if left or held:
        places = [*left, *held]
        raise NotErased(
            f"{counted(len(places), 'place')} of {pipeline.name} still holds rows or values, the "
            f"first of them {places[0]}.",
            remedy="A computation may have written it meanwhile: end it, then give the same "
            "command again. Every other step is refused until nothing is left.",
            pipeline=pipeline.name,
            files=tuple(left),
            targets=held,
        )


def _begin(run: LeasedRun, condition: Condition, *, by: str, reason: str) -> Erasure:
    salt, number = new_salt(), newest_erasure(run.layout.home) + 1
    erasure = Erasure(
        number=number,
        salt=salt,
        **condition.hidden(salt),
        by=by,
        os_user=os_user(),
        reason=reason,
        run_id=run.run_id,
        epoch=run.epoch,
        began=run.clock(),
    )
    documents.put(erasure_file(run.layout.home, number), erasure)
    return erasure


def _remove(path: Path) -> None:
    for one in (path, path.with_name(f".{path.name}.crc")):
        one.unlink(missing_ok=True)
    if path.parent.is_dir():
        sync_folder(path.parent)


def _refuse_naming(condition: Condition, *, by: str, reason: str) -> None:
    for field, text in (("reason", reason), ("by", by)):
        if condition.texts and words_pattern(condition.texts).search(text):
            raise ReasonNamesPerson(
                f"--{field} repeats a value that is to be erased, and is kept for good.",
                remedy="Say it without the value, such as: a request of 2026-03-01.",
                field=field,
            )
