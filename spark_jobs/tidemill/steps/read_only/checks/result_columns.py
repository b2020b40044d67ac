"""The columns of a pipeline's result, as far as they are known without Spark."""

from collections.abc import Mapping
from pathlib import Path

from tidemill.contract.syntax.ddl import column_names
from tidemill.spec.model import is_engine_column
from tidemill.spec.pipeline_files import NO_TRANSFORM
from tidemill.spec.spec import Spec
from tidemill.steps.read_only.checks.select_columns import Columns, select_columns
from tidemill.steps.read_only.checks.spark_sql import NotSparkSql, tree_of, words_of


def input_columns(spec: Spec) -> Mapping[str, Columns | None]:
    """Source or static input -> the columns that a transform sees; None where not known."""
    # One that is broken, or made of the result, counts too: better no complaint than a wrong one.
    partitions = tuple(spec.output.partition_by)
    inputs: dict[str, Columns | None] = {
        name: (*source.columns, *partitions) for name, source in spec.sources.items()
    }
    for name, static in spec.statics.items():
        inputs[name] = None if static.ddl is None else column_names(static.ddl)
    return inputs


def source_partitions(spec: Spec) -> tuple[str, ...]:
    """The partition columns that are computed of a source's row, before the transform."""
    known = {column.lower() for source in spec.sources.values() for column in source.columns}
    return tuple(
        name
        for name, sql in spec.output.partition_by.items()
        if all(word.lower() in known or is_engine_column(word) for word in words_of(sql))
    )


def result_columns(spec: Spec, transform: Path) -> Columns | None:
    """The columns of the published rows; None where only Spark knows them.

    Args:
        transform: The transform's file. What a function in Python returns is not known.
    """
    inputs = input_columns(spec)
    if transform == NO_TRANSFORM:
        (columns,) = inputs.values()
    elif transform.suffix == ".sql" and transform.is_file():
        columns = _of_sql(transform, inputs)
    else:
        return None
    return None if columns is None else tuple(dict.fromkeys((*columns, *spec.output.partition_by)))


def _of_sql(path: Path, inputs: Mapping[str, Columns | None]) -> Columns | None:
    try:
        tree = tree_of(path.read_text(encoding="utf-8"))
    except (NotSparkSql, ValueError):
        return None
    return None if tree is None else select_columns(tree, inputs)
