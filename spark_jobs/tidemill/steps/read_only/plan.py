"""Plan: shows what has changed since the live generation was created, and what follows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from tidemill.compatibility.binding_rules import (
    bound_by,
    bound_today,
    format_changes,
    interval_changes,
    judge_of,
    mode_changes,
)
from tidemill.compatibility.change import Change, Verdict
from tidemill.compatibility.compare import Born, born_of
from tidemill.compatibility.creation_snapshot import as_born
from tidemill.compatibility.source_identity import bound_source_changes
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.generation_note import GenerationNote, read_note
from tidemill.ledger.ledger import Ledger
from tidemill.sources.due import Due
from tidemill.sources.probe import due_of
from tidemill.spec.pipeline import Pipeline

WORST = (Verdict.ALLOWED, Verdict.CONSEQUENCES, Verdict.NOT_ALLOWED)


class Compared(StrEnum):
    """The snapshots that today's spec and code could be compared with.

    Attributes:
        NOTHING: The pipeline has never started.
        NOTE: Only the frozen settings are known of a generation without a snapshot.
        FINGERPRINT: Everything.
    """

    NOTHING = "nothing"
    NOTE = "note"
    FINGERPRINT = "fingerprint"


@dataclass(frozen=True)
class Planned:
    """The changes.

    Args:
        changes: In the order of the spec, then of the plan.
        due: What is to be computed again since tables upstream were.
    """

    pipeline: str
    generation: str
    compared: Compared
    changes: tuple[Change, ...] = ()
    due: tuple[Due, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of all."""
        return max((one.verdict for one in self.changes), key=WORST.index, default=WORST[0])


def plan(pipeline: Pipeline) -> Planned:
    """Compare a pipeline with what its live generation was born as, and its upstreams with what it
    has read; nothing is written.

    A JVM is started only where code or inputs have changed, to analyse both plans.

    Raises:
        SpecError: today's schema, expressions and transform do not fit together.
        QueryFailed: Spark refuses today's plan.
        HistoryExpired: the log of a table upstream says no more what was swapped.
    """
    due = tuple(due_of(pipeline, Snapshot(pipeline.layout)))
    return replace(_compared(pipeline), due=due)


def _compared(pipeline: Pipeline) -> Planned:
    generation = generation_of(pipeline)
    note = read_note(pipeline.layout, generation)
    if note is None:
        return Planned(pipeline.name, generation, Compared.NOTHING)
    born = born_of(pipeline, note)
    if born is None:
        # With the same hashes nothing can have changed, fingerprint or not.
        known = Compared.FINGERPRINT if as_born(pipeline, note) else Compared.NOTE
        changes = [*_of_note(pipeline, note), *_of_sources(pipeline, generation)]
        return Planned(pipeline.name, generation, known, tuple(changes))
    changes = [*_of_root(pipeline, note), *born.spec_changes()]
    told = {change.field for change in changes}
    changes += [one for one in _of_sources(pipeline, generation) if one.field not in told]
    return Planned(
        pipeline.name, generation, Compared.FINGERPRINT, (*changes, *_of_plan(pipeline, born))
    )


def _of_note(pipeline: Pipeline, note: GenerationNote) -> Iterator[Change]:
    judge = judge_of(note, pipeline.name)
    was, now = bound_by(note), bound_today(pipeline.spec)
    yield from _of_root(pipeline, note)
    for rule in (interval_changes, mode_changes, format_changes):
        yield from rule(judge, was, now)


def _of_root(pipeline: Pipeline, note: GenerationNote) -> Iterator[Change]:
    """Whether the files are where they were written: Spark's guide, parameters of the sink."""
    now = pipeline.layout.sink(note.generation)
    if note.sink != now:
        judge = judge_of(note, pipeline.name)
        means = "Spark's log of the sink holds absolute paths, and reads as empty elsewhere"
        instead = f"move it back, have it rewritten by tidemill relocate {pipeline.name} --apply"
        yield judge.not_allowed("TIDEMILL_ROOT", str(note.sink), str(now), means, instead)


def _of_sources(pipeline: Pipeline, generation: str) -> list[Change]:
    layout, spec = pipeline.layout, pipeline.spec
    batches = Ledger(layout, generation).batches()
    changes = (bound_source_changes(layout, generation, spec, n, batches) for n in spec.sources)
    return [change for of_one in changes for change in of_one]


def _of_plan(pipeline: Pipeline, born: Born) -> list[Change]:
    if born.same_plan:
        return []
    # Spark is imported here so that a spec alone is compared without it.
    from tidemill.engine.session import open_session
    from tidemill.engine.shape.birth_comparison import changes_of_plan

    return changes_of_plan(open_session(pipeline, "plan"), born)
