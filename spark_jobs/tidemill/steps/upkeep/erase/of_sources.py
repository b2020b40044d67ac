"""Which sources a condition is about, where rows leave a pipeline before its transform."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.syntax.ddl import column_types
from tidemill.generations.relocation import notes
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.parse_condition import (
    ConditionUnsupported,
    columns_named,
    parse_condition,
)
from tidemill.steps.upkeep.erase.support import columns_of, values_elsewhere

# DDL's names of types, which Kafka's values have too -> those of Spark's JSON.
AS_JSON = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}


class SourceUnclear(UsageError):
    """A condition does not tell whose rows it names; carries `sources` and `columns`."""


def read_condition(
    pipeline: Pipeline, where: Sequence[str], values: Sequence[str], sources: Sequence[str]
) -> Condition:
    """Understand a condition: on rows of the table, or on those of sources.

    They are those of sources where sources are named, and where the pipeline has state or merges
    rows, so that a row of its table does not tell what went into it.

    Args:
        where: Conditions of which all hold.
        values: Further texts.
        sources: Names of sources.

    Raises:
        ConditionUnsupported: rows cannot be erased by it.
        SourceUnclear: no source has its columns, or several have.
        NotErasable: nothing was taken in yet.
    """
    schema, partitions = columns_of(pipeline)
    if not sources and not holds_values(pipeline.layout):
        return parse_condition(where, values, schema, partitions)
    chosen = _chosen(pipeline.spec, columns_named(where), sources)
    found = [
        parse_condition(where, values, _schema(pipeline.spec, name), partitions, f"source {name}")
        for name in chosen
    ]
    if any(one != found[0] for one in found):
        raise ConditionUnsupported(
            f"The columns of {' and '.join(chosen)} differ in their types.",
            remedy="Erase from one after the other.",
            condition=" AND ".join(where),
            part=", ".join(chosen),
        )
    return replace(found[0], sources=chosen)


def holds_values(layout: Layout) -> bool:
    """Whether rows of a pipeline go into its state, or into others."""
    return any(True for _, note in notes(layout) for _ in values_elsewhere(note))


def _chosen(spec: Spec, columns: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in given if name not in spec.sources]
    if unknown:
        raise _unclear(
            f"There is no source {unknown[0]}", f"Name one of {', '.join(spec.sources)}.", columns
        )
    if given:
        return tuple(dict.fromkeys(given))
    having = [
        name
        for name in spec.sources
        if {one.lower() for one in columns} <= {one.lower() for one in _types(spec, name)}
    ]
    if len(having) == 1:
        return tuple(having)
    named = ", ".join(columns)
    if not having:
        raise _unclear(
            f"No source has the columns {named} with types that the spec names",
            "The pipeline has state or merges rows: name rows of a source, before the transform.",
            columns,
        )
    both = " ".join(f"--source {name}" for name in having)
    raise _unclear(
        f"The columns {named} are in the sources {' and '.join(having)}",
        f"Say whose rows are meant: --source {having[0]}, or {both} for those of all.",
        columns,
        having,
    )


def _types(spec: Spec, source: str) -> Mapping[str, str]:
    given = spec.sources[source]
    if given.ddl is not None:
        return {name: kind.name for name, kind in column_types(given.ddl).items()}
    types = {name: given.type_of(name) for name in given.columns}
    return {name: kind for name, kind in types.items() if kind is not None}


def _schema(spec: Spec, source: str) -> Mapping[str, Any]:
    types = _types(spec, source).items()
    return {"fields": [{"name": name, "type": AS_JSON.get(kind, kind)} for name, kind in types]}


def _unclear(
    what: str, remedy: str, columns: Sequence[str], sources: Sequence[str] = ()
) -> SourceUnclear:
    return SourceUnclear(f"{what}.", remedy=remedy, sources=tuple(sources), columns=tuple(columns))
