"""What has changed since a generation was born, and whether it may go on with that."""

from __future__ import annotations

from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.ledger.change import Change, Judge, refuse
from spark_jobs.ledger.fingerprint import (
    Fingerprint,
    SpecPrint,
    as_born,
    print_of,
    read_fingerprint,
)
from spark_jobs.ledger.note import Note, hash_of_spec
from spark_jobs.ledger.source_code import hash_of_code
from spark_jobs.ledger.spec_changes import spec_changes


def refuse_changes(pipeline: Pipeline, note: Note | None) -> None:
    """Refuse a spec with which a generation cannot go on; about its code nothing is asked.

    Args:
        pipeline: Today's.
        note: Of the generation; None before its birth.

    Raises:
        QueryChanged: something has changed that may not.
    """
    born = read_fingerprint(pipeline.layout, note.generation) if note else None
    if note is None or born is None or born.spec_hash == hash_of_spec(pipeline.spec):
        return
    changes = spec_changes(judge_of(pipeline, note), born.spec, print_of(pipeline))
    refuse(changes, note.generation, pipeline.spec_file)


def judge_of(pipeline: Pipeline, note: Note) -> Judge:
    """Who gives the verdicts on a generation."""
    return Judge(pipeline.name, note.pipeline_class)


def plan_asked_for(pipeline: Pipeline, note: Note, born: Fingerprint) -> bool:
    """Whether only the plan can say what has changed: of the code, or of the rows that it gets."""
    if as_born(pipeline, note):
        return False
    if hash_of_code(pipeline.transform_file) != born.logic_hash:
        return True
    return _inputs(born.spec) != _inputs(print_of(pipeline))


def code_only(judge: Judge, born: Fingerprint, pipeline: Pipeline) -> list[Change]:
    """What to say of code that has changed while its plan has not."""
    now = hash_of_code(pipeline.transform_file)
    if now == born.logic_hash:
        return []
    means = "its plan, its columns and its functions are the same"
    return [judge.allowed("transform", born.logic_hash[:12], now[:12], means)]


def _inputs(spec: SpecPrint) -> object:
    sources = {
        name: (one.event_time, one.watermark, one.fields) for name, one in spec.sources.items()
    }
    return sources, spec.statics, spec.partition_by
