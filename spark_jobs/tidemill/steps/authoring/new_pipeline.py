"""Makes the three files of a pipeline from real data: spec, transform and suite."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot.dialects.spark import Spark

from tidemill.contract.errors import UsageError
from tidemill.contract.project import Project
from tidemill.spec.column_types import quoted
from tidemill.spec.model import is_engine_column
from tidemill.steps.authoring.arrow_types import table_of
from tidemill.steps.authoring.delivery import CONN_ID, Delivery, delivery_of
from tidemill.steps.authoring.profile import profile
from tidemill.steps.authoring.project_files import (
    own_project,
    refuse_existing,
    refuse_unfit,
    schema_line,
    write_files,
)
from tidemill.steps.authoring.sample_rows import SampleRows
from tidemill.steps.authoring.sample_types import SampledColumn

_TIMES = ("timestamp", "timestamp_ntz", "date")
# The earlier, the likelier it says when a row happened.
_TIME_NAMES = ("event_time", "eventtime", "timestamp", "time", "ts", "at", "date", "created_at")
_TRANSFORM = '''\
"""The rows of {source}, as they come. What this returns is published."""


def transform(rows):
    """Rows of the source in, rows to publish out: select, filter, join, aggregate."""
    return rows
'''


@dataclass(frozen=True)
class NewPipeline:
    """A pipeline that was made.

    Args:
        files: Its files: spec, transform if there is one, suite.
        project: The folder that they are in.
        sample: The files that the rows came from; none of a topic.
        rows: How many.
        columns: The schema.
        reads: What the source reads: the folder and the names in it, or the topic.
        time: The column that was taken for the event time; None where there is none.
        expectations: As the suite has them.
        notes: What to look over.
    """

    files: tuple[Path, ...]
    project: Project
    sample: tuple[Path, ...]
    rows: int
    columns: tuple[SampledColumn, ...]
    reads: str
    time: str | None
    expectations: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]


def new_pipeline(
    name: str,
    place: Path,
    *,
    format: str | None = None,
    conn_id: str = CONN_ID,
    folder: Path | None = None,
    transform: bool = True,
    write: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> NewPipeline:
    """Make a pipeline that reads the folder of a sample, or a topic.

    Args:
        name: The new pipeline.
        place: A file, a folder with files of one kind, or `kafka:` with the name of a topic.
        format: The files' format; guessed where not given.
        conn_id: The connection of a topic.
        folder: The project; the user's own one where not given.
        transform: Whether it gets a transform to edit; otherwise its spec says `none`.
        write: Whether to write its files, or only to prove that they can be written.

    Raises:
        UnknownSample: the sample cannot be read without Spark, or holds nothing.
        BrokerUnreachable: no broker of a topic answers in time.
        UsageError: the name is taken or not a name, or there is no project.
    """
    refuse_unfit(name, environ)
    project = Project(folder.resolve()) if folder else own_project(environ)
    delivery = delivery_of(place, format, conn_id, environ)
    sample = delivery.sample
    columns, notes = _usable(sample)
    rows = table_of(columns, sample.rows)
    expectations = profile(rows)
    time = _time_of(columns, [*sample.rows])
    texts = {project.spec(name): _spec(name, delivery, columns, time, project)}
    if transform:
        texts[project.transform(name)] = _TRANSFORM.format(source=name)
    else:
        spec = project.spec(name)
        texts[spec] = texts[spec] + "transform: none\n"
    suite = {"name": name, "expectations": expectations, "meta": {}}
    texts[project.suite(name)] = json.dumps(suite, indent=2, ensure_ascii=False) + "\n"
    if write:
        write_files(texts)
    refuse_existing(() if write else texts)
    return NewPipeline(
        files=tuple(texts),
        project=project,
        sample=delivery.files,
        rows=len(sample.rows),
        columns=columns,
        reads=delivery.reads,
        time=time,
        expectations=tuple(expectations),
        notes=tuple(notes),
    )


def _usable(sample: SampleRows) -> tuple[tuple[SampledColumn, ...], list[str]]:
    kept = [column for column in sample.columns if is_engine_column(column.name)]
    if kept and sample.format == "csv":
        raise UsageError(
            f"The column '{kept[0].name}' has a name that is kept for the engine.",
            remedy="Rename it in the files, or give the spec a header of its own (header: false).",
            column=kept[0].name,
        )
    columns = tuple(column for column in sample.columns if column not in kept)
    notes = [*sample.notes]
    notes += [f"{one.name} is left out: the name is kept for the engine" for one in kept]
    notes += [f"{one.name}: {note}" for one in columns for note in one.notes]
    return columns, notes


def _time_of(columns: Sequence[SampledColumn], rows: Sequence[dict[str, Any]]) -> str | None:
    """The column that says when a row happened: a time in each row, by the likeliest name."""
    found = [
        column
        for column in columns
        if column.type in _TIMES and all(row.get(column.name) is not None for row in rows)
    ]
    rank = {name: place for place, name in enumerate(_TIME_NAMES)}
    ordered = sorted(
        found, key=lambda one: (one.type == "date", rank.get(one.name.lower(), len(rank)))
    )
    return ordered[0].name if ordered else None


def _spec(
    name: str,
    delivery: Delivery,
    columns: Sequence[SampledColumn],
    time: str | None,
    project: Project,
) -> str:
    # The schema of records is a part of their value.
    inside = "  " if "value:" in delivery.source else ""
    lines = [
        f"description: The rows of {json.dumps(name)}, as they are delivered.",
        "sources:",
        f"  {name}:",
        *(f"    {line}" for line in delivery.source),
        f"    {inside}schema: >-",
        *(f"    {inside}  {line}" for line in _schema_lines(columns)),
    ]
    if time is not None:
        taken = {column.name.lower() for column in columns}
        names = ("day", *(f"day_{number}" for number in range(2, len(columns) + 3)))
        day = next(one for one in names if one not in taken)
        lines += [
            f"event_time: {{column: {json.dumps(time)}}}",
            "output:",
            f"  partition_by: {{{day}: {json.dumps(f'to_date({_in_sql(time)})')}}}",
        ]
    return schema_line(project) + "\n".join(lines) + "\n"


def _in_sql(time: str) -> str:
    """A column that is named like a word of SQL's, such as `when`, in quotes."""
    return f"`{time}`" if time.upper() in Spark.Tokenizer.KEYWORDS else quoted(time)


def _schema_lines(columns: Sequence[SampledColumn]) -> list[str]:
    *others, last = [column.ddl for column in columns]
    return [*(f"{ddl}," for ddl in others), last]
