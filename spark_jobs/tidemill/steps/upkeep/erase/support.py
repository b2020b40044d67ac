"""Which pipelines rows can be erased from."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.generations.relocation import notes
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.generation_note import GenerationNote, read_note
from tidemill.ledger.ledger import Ledger
from tidemill.publish.delta.erasure import live_paths
from tidemill.spark_logs.sink_log import read_sink_log
from tidemill.spec.iceberg_target import IcebergTarget
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.targets import DatabaseTarget, DeltaTarget, FilesTarget
from tidemill.steps.decisions.readers import readers_of
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.row_file import NotErasable
from tidemill.storage.tables_read import is_read

# The targets that give rows up.
ERASED = (DeltaTarget, FilesTarget, DatabaseTarget, IcebergTarget)


def refuse_unsupported(pipeline: Pipeline, condition: Condition) -> None:
    """Refuse a pipeline whose rows are also where an erasure does not reach.

    Raises:
        NotErasable: that is so; its remedy says what can be done.
    """
    kinds = _reasons_of_a_rebuild if condition.sources else _reasons_of_targets
    for why, remedy in (*_reasons(pipeline, condition), *kinds(pipeline, condition)):
        raise NotErasable(
            f"Rows of {pipeline.name} cannot be erased: {why}.",
            remedy=f"Nothing was changed. {remedy}",
            pipeline=pipeline.name,
            reasons=(why,),
        )


def _reasons(pipeline: Pipeline, condition: Condition) -> Iterator[tuple[str, str]]:
    name, start_over = pipeline.name, _start_over(pipeline)
    by_source = "Name the source whose rows are meant: --source NAME."
    if not pipeline.spec.published:
        yield "it publishes nothing below the root", "Erase them where its sink writes."
    readers = sorted(readers_of(name))
    if readers or is_read(pipeline.layout):
        by = ", ".join(readers) or "another pipeline"
        yield (
            f"its table is read by {by}, which needs every version that it has not read yet",
            f"{start_over}, and the pipelines that read it.",
        )
    for _, note in notes(pipeline.layout):
        which = f"generation {note.generation}"
        for why in () if condition.sources else values_elsewhere(note):
            yield f"{which} {why}", by_source
        if note.format != "parquet":
            yield f"{which} has files of format {note.format}", start_over


def values_elsewhere(note: GenerationNote) -> Iterator[str]:
    """Why a row of a generation's table does not tell what went into it; nothing where it does."""
    if note.mode is not OutputMode.APPEND:
        yield f"is of mode {note.mode.value}, whose rows go into others"
    if note.pipeline_class is not PipelineClass.MAP:
        yield f"is of class {note.pipeline_class.value}, whose state holds values"


def _reasons_of_targets(pipeline: Pipeline, condition: Condition) -> Iterator[tuple[str, str]]:
    spec, start_over = pipeline.spec, _start_over(pipeline)
    for target in spec.publish:
        if not isinstance(target, ERASED):
            yield (
                f"publish names {target.name}, whose rows and heads are outside the root",
                f"Take it out of the spec and erase there by its own means; {start_over[0].lower()}"
                f"{start_over[1:]}",
            )
        elif target.upserts(spec.output.mode):
            free = sorted({*condition.columns} - {*spec.output.keys})
            if free:
                yield (
                    f"{target.name} has replaced earlier rows of the same key, which would be "
                    f"missing there, as {', '.join(free)} is not in output.keys",
                    f"Erase by columns of output.keys ({', '.join(spec.output.keys)}); or "
                    f"{start_over[0].lower()}{start_over[1:]}",
                )


def _reasons_of_a_rebuild(pipeline: Pipeline, condition: Condition) -> Iterator[tuple[str, str]]:
    for partition, expression in pipeline.spec.output.partition_by.items():
        for column in condition.columns:
            if re.search(rf"\b{re.escape(column)}\b", expression, re.IGNORECASE):
                yield (
                    f"output.partition_by.{partition} is made of {column}",
                    f"Logs repeat the names of partitions. {_start_over(pipeline)}",
                )
    for target in pipeline.spec.publish:
        if not isinstance(target, ERASED):
            yield (
                f"publish names {target.name}, which keeps more than the newest rows of a table "
                "that is replaced as a whole",
                f"Take it out of the spec and erase there by its own means; or "
                f"{_start_over(pipeline)[0].lower()}{_start_over(pipeline)[1:]}",
            )


def _start_over(pipeline: Pipeline) -> str:
    return (
        "Remove the rows from the input, and start over: tidemill drop "
        f"{pipeline.name} --table, then tidemill run {pipeline.name}"
    )


def refuse_named(layout: Layout, torn: Collection[Path]) -> None:
    """Refuse to remove files that are not whole where the books name them.

    Raises:
        NotErasable: they do.
    """
    if not torn:
        return
    named = live_paths(layout.table) | live_paths(layout.rejected)
    for _, note in notes(layout):
        named |= {file.path for file in read_sink_log(note.sink).files}
        ledger = Ledger(layout, note.generation)
        named |= {note.sink / file.path for one in ledger.batches() for file in one.outputs}
    for path in sorted(named.intersection(torn)):
        raise NotErasable(
            f"{path} is damaged, so that it cannot be told which rows it holds.",
            remedy="Nothing was changed. Restore it from a backup.",
            pipeline=layout.name,
            reasons=(str(path),),
        )


def columns_of(pipeline: Pipeline) -> tuple[Mapping[str, Any], Sequence[str]]:
    """The published columns as Spark's JSON schema, and those that partition the table.

    Raises:
        NotErasable: nothing was taken in yet.
    """
    layout = pipeline.layout
    note = read_note(layout, generation_of(pipeline))
    if note is None:
        raise NotErasable(
            f"{layout.name} has taken nothing in yet.",
            remedy=f"Run it first: tidemill run {layout.name}",
            pipeline=layout.name,
            reasons=(),
        )
    starts = Ledger(layout, note.generation).starts()
    newest = starts[-1] if starts else note
    return newest.table_schema, [*note.partition_by]
