"""A snapshot of a generation's query, taken when the generation was created.

Spark checks little of it when a query starts again, and some changes it takes without a word: a
grouping key of the same type, say, whose values then mix with the old ones in the state.

Spec and code themselves are put down, and what matters of them is read again whenever they are
compared with today's: by the same Spark and by the same rules, so that an upgrade of neither looks
like a change of the pipeline.
"""

from datetime import date, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tidemill.compatibility.code_hash import OF_THE_TRANSFORM, hash_of_code
from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.helper_modules import helper_files
from tidemill.contract.layout import Layout
from tidemill.contract.syntax.quantities import as_time_string
from tidemill.ledger.generation_note import (
    GenerationNote,
    Writes,
    hash_of_file,
    hash_of_spec,
    keys_of,
    writes_of,
)
from tidemill.spec.formats.rules import FALLS_BACK
from tidemill.spec.output import NullPartition, OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.base import BaseSource, Rating
from tidemill.spec.sources.table import Swapped
from tidemill.spec.spec import Spec
from tidemill.storage import documents

# What is told of every source in a field of its own.
APART = {"kind", "event_time", "row_rules"}


class SourcePrint(FrozenModel):
    """A source, as far as it says which rows come.

    Attributes:
        event_time: The column.
        watermark: In seconds.
        fields: All others that are not at their defaults, by their names in the spec.
    """

    kind: str
    event_time: str | None
    watermark: float | None
    row_rules: dict[str, str]
    fields: dict[str, Any]


class SpecSnapshot(FrozenModel):
    """A spec, as far as it says what the query does.

    Attributes:
        partition_by: In their order, which is that of directories.
        null_partition: What becomes of rows whose partition value is null.
        shuffle_partitions: As the spec asks for them.
        sink: One of Spark's own.
        sink_code: The hash of the file's code that such a sink calls.
        writer: Options of the files' writer.
    """

    sources: dict[str, SourcePrint]
    statics: dict[str, dict[str, Any]]
    timezone: str
    partition_by: tuple[tuple[str, str], ...]
    null_partition: NullPartition
    row_rules: dict[str, str]
    watermark_policy: str
    shuffle_partitions: int | None
    trigger: str
    mode: OutputMode
    keys: tuple[str, ...]
    writes: Writes
    format: str
    writer: dict[str, Any]
    sink: dict[str, Any] | None
    sink_code: str | None


class CreationSnapshot(Document):
    """Written once, when a generation is born, beside its note.

    A fork has that of the generation it comes from, whose state it goes on with.

    Attributes:
        query_id: As in the note that it belongs to.
        spec: With its variables replaced, without what is at its default.
        code: The transform's file.
        suffix: `.py` or `.sql`.
        helpers: Path beside it -> the code of a module that it imports.
        defaults: `sources.NAME` or `statics.NAME` -> options of its reader that the spec leaves at
            a default, where older generations had another one. What is missing here had that one.
    """

    generation: str
    query_id: str
    spec_hash: str
    code_hash: str
    spec: dict[str, Any]
    code: str
    suffix: str
    defaults: dict[str, dict[str, str]] = {}
    helpers: dict[str, str] = {}

    def born(self) -> Spec | None:
        """The spec, without options that are refused since; None where today's version has no such
        field any more.
        """
        try:
            return Spec.model_validate(_without_refused(self.spec))
        except ValidationError:
            return None


def _without_refused(part: Any) -> Any:
    """A part of a spec without the options that readers had once and are refused today."""
    if not isinstance(part, dict):
        return part
    refused = {name.lower() for name in FALLS_BACK}
    kept = {name: value for name, value in part.items() if str(name).lower() not in refused}
    return {name: _without_refused(value) for name, value in kept.items()}


def read_fingerprint(layout: Layout, generation: str) -> CreationSnapshot | None:
    return documents.read(layout.fingerprint(generation), CreationSnapshot)


def as_born(pipeline: Pipeline, note: GenerationNote) -> bool:
    """Whether spec and code are those that a generation was born with."""
    code = hash_of_file(pipeline.transform_file)
    return (note.spec_hash, note.code_hash) == (hash_of_spec(pipeline.spec), code)


def helpers_of(path: Path) -> dict[str, str]:
    """The code of the modules beside a transform that it imports."""
    return {name: file.read_text(encoding="utf-8") for name, file in helper_files(path).items()}


def put_fingerprint(pipeline: Pipeline, note: GenerationNote) -> None:
    """Put down what a generation is, unless spec and code are others; under the lease."""
    path = pipeline.transform_file
    if pipeline.layout.fingerprint(note.generation).exists() or not as_born(pipeline, note):
        return
    fingerprint = CreationSnapshot(
        generation=note.generation,
        query_id=note.query_id,
        spec_hash=note.spec_hash,
        code_hash=note.code_hash,
        spec=_as_written(pipeline.spec.model_dump(by_alias=True, exclude_unset=True)),
        code=path.read_text(encoding="utf-8"),
        suffix=path.suffix,
        helpers=helpers_of(path),
        defaults={
            field: dict(source.changed_defaults)
            for field, source in pipeline.spec.file_inputs.items()
        },
    )
    documents.put_if_absent(pipeline.layout.fingerprint(note.generation), fingerprint)


def inherit_fingerprint(layout: Layout, of: str, note: GenerationNote, to: Layout) -> None:
    """Put down for a fork what the generation was that it comes from, as far as that is known.

    Args:
        layout: The folders of the generation that it comes from.
        to: The folders of the fork.
    """
    found = read_fingerprint(layout, of)
    if found is not None:
        own = {"generation": note.generation, "query_id": note.query_id}
        documents.put_if_absent(to.fingerprint(note.generation), found.model_copy(update=own))


def print_of(spec: Spec, code: bytes, suffix: str) -> SpecSnapshot:
    """The part of a spec that matters to its query.

    Args:
        code: The transform's file, which may hold what a sink calls.
    """
    own_sink = spec.sink
    called = own_sink is not None and own_sink.kind in ("foreach", "foreach_batch")
    return SpecSnapshot(
        sources={name: _source(spec, name, source) for name, source in spec.sources.items()},
        statics={
            name: static.model_dump(mode="json", by_alias=True, exclude_none=True)
            for name, static in spec.statics.items()
        },
        timezone=spec.timezone,
        partition_by=tuple(spec.output.partition_by.items()),
        null_partition=spec.output.null_partition,
        row_rules=spec.row_rules,
        watermark_policy=spec.multipleWatermarkPolicy,
        shuffle_partitions=spec.state.shuffle_partitions,
        trigger=str(spec.trigger),
        mode=spec.output.mode,
        keys=keys_of(spec),
        writes=writes_of(spec),
        format=spec.output.format,
        writer={**spec.output.options, "maxRecordsPerFile": spec.output.maxRecordsPerFile},
        sink=None if own_sink is None else own_sink.model_dump(mode="json", exclude_none=True),
        sink_code=hash_of_code(code, suffix, OF_THE_TRANSFORM) if called else None,
    )


def _source(spec: Spec, name: str, source: BaseSource) -> SourcePrint:
    time = spec.event_time_of(name)
    watermark = time.watermark if time else None
    # What is only watched for makes no difference to what is read.
    watched = {n for n, value in source if isinstance(value, (Rating, Swapped))}
    said = source.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return SourcePrint(
        kind=spec.sources[name].kind,
        event_time=time.column if time else None,
        watermark=watermark.total_seconds() if watermark else None,
        row_rules=source.row_rules,
        fields={n: value for n, value in said.items() if n not in APART | watched},
    )


def _as_written(value: Any) -> Any:
    """A spec's values as a file could hold them."""
    if isinstance(value, dict):
        return {name: _as_written(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_written(item) for item in value]
    if isinstance(value, timedelta):
        return as_time_string(value)
    if isinstance(value, date):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value
