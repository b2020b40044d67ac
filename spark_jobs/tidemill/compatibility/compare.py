"""Compares a pipeline with its generation's creation, and says whether it may continue."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidemill.compatibility.binding_rules import judge_of
from tidemill.compatibility.change import Change, Judge, refuse
from tidemill.compatibility.code_hash import hash_of_codes
from tidemill.compatibility.creation_snapshot import (
    CreationSnapshot,
    SpecSnapshot,
    helpers_of,
    print_of,
    read_fingerprint,
)
from tidemill.compatibility.default_changes import default_changes
from tidemill.compatibility.spec_changes import spec_changes
from tidemill.contract.document import Document
from tidemill.ledger.generation_note import GenerationNote, hash_of_file, hash_of_spec
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec
from tidemill.storage import documents

# The fields of an input that say which columns it has.
SHAPING = frozenset({"include", "includeTimestamp", "key_format", "pipeline", "schema", "value"})


@dataclass(frozen=True)
class Born:
    """A generation as it was born, beside the pipeline of today.

    Args:
        fingerprint: The snapshot of the same.
    """

    pipeline: Pipeline
    note: GenerationNote
    fingerprint: CreationSnapshot
    spec: Spec

    @property
    def judge(self) -> Judge:
        return judge_of(self.note, self.pipeline.name)

    @property
    def unchanged(self) -> bool:
        """Whether spec and code are the same to the letter."""
        born, path = self.fingerprint, self.pipeline.transform_file
        today = hash_of_spec(self.pipeline.spec), hash_of_file(path) if path.is_file() else ""
        return (born.spec_hash, born.code_hash) == today

    @property
    def same_code(self) -> bool:
        """Whether the transform is the same but for comments and layout."""
        return self._codes[0] == self._codes[1]

    @property
    def same_plan(self) -> bool:
        """Whether neither the code nor what it is given has changed."""
        was, now = self._prints
        return self.same_code and _inputs(was) == _inputs(now)

    def spec_changes(self) -> list[Change]:
        """Every change of the spec, and of what it leaves at a default."""
        return [*spec_changes(self.judge, *self._prints), *self.default_changes()]

    def default_changes(self) -> list[Change]:
        """The options of file formats whose defaults were others when it was created."""
        today, then = self.pipeline.spec, self.fingerprint.defaults
        return list(default_changes(self.judge, self.spec, today, then))

    def code_change(self) -> Change:
        """What to say of code that has changed while its plan has not."""
        was, now = self._codes
        means = "its plan, its columns and its functions are the same"
        return self.judge.allowed("transform", was[:12], now[:12], means)

    @property
    def _codes(self) -> tuple[str, str]:
        born, path = self.fingerprint, self.pipeline.transform_file
        was = hash_of_codes(born.code.encode(), born.suffix, born.helpers)
        if not path.is_file():
            return was, ""
        return was, hash_of_codes(path.read_bytes(), path.suffix, helpers_of(path))

    @property
    def _prints(self) -> tuple[SpecSnapshot, SpecSnapshot]:
        born, path = self.fingerprint, self.pipeline.transform_file
        code = path.read_bytes() if path.is_file() else b""
        was = print_of(self.spec, born.code.encode(), born.suffix)
        return was, print_of(self.pipeline.spec, code, path.suffix)


class Passed(Document):
    """A spec and code that a generation was found to be able to go on with."""

    spec_hash: str
    code_hash: str
    changes: tuple[Change, ...]


def born_of(pipeline: Pipeline, note: GenerationNote | None) -> Born | None:
    """A generation as it was born; None where it is unknown, or it was not born yet."""
    found = read_fingerprint(pipeline.layout, note.generation) if note else None
    spec = found.born() if found else None
    if note is None or found is None or spec is None:
        return None
    if found.query_id != note.query_id:
        return None
    return Born(pipeline, note, found, spec)


def refuse_changes(pipeline: Pipeline, note: GenerationNote | None) -> None:
    """Refuse a spec with which a generation cannot go on; about its code nothing is asked.

    Args:
        note: The note of the generation; None before its birth.

    Raises:
        QueryChanged: something has changed that may not.
    """
    born = born_of(pipeline, note)
    if born is None:
        return
    if born.fingerprint.spec_hash != hash_of_spec(pipeline.spec) or born.default_changes():
        refuse(born.spec_changes(), born.note.generation, pipeline.spec_file)


def plan_asked_for(pipeline: Pipeline, note: GenerationNote | None) -> bool:
    """Whether only the plans can say if a generation may go on with what has changed."""
    born = born_of(pipeline, note)
    return born is not None and not born.same_plan


def has_passed(pipeline: Pipeline, generation: str) -> bool:
    """Whether today's spec and code were compared before, and may go on."""
    return pipeline.layout.passed(generation, _both(pipeline)).exists()


def record_compatible(pipeline: Pipeline, generation: str, changes: list[Change]) -> None:
    """Put down that today's spec and code may go on, so that no later start asks again."""
    spec, code = hash_of_spec(pipeline.spec), hash_of_file(pipeline.transform_file)
    document = Passed(spec_hash=spec, code_hash=code, changes=tuple(changes))
    documents.put_if_absent(pipeline.layout.passed(generation, _both(pipeline)), document)


def _both(pipeline: Pipeline) -> str:
    return f"{hash_of_spec(pipeline.spec)[:16]}-{hash_of_file(pipeline.transform_file)[:16]}"


def _inputs(spec: SpecSnapshot) -> object:
    """What says which columns the transform is given, and what is asked of its result."""
    sources = {
        name: (one.kind, one.event_time, one.watermark, _shaping(one.fields))
        for name, one in spec.sources.items()
    }
    statics = {name: _shaping(one) for name, one in spec.statics.items()}
    return sources, statics, spec.partition_by, spec.mode


def _shaping(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name in SHAPING}
