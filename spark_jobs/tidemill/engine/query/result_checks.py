"""What is looked at in the result of a published pipeline before a query starts."""

from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame

from tidemill.engine.query.key_checks import refuse_keys
from tidemill.engine.query.partition_columns import refuse_unfaithful_types
from tidemill.engine.query.refusals import refuse_unrepeatable
from tidemill.engine.query.result_columns import refuse_unfit_columns
from tidemill.spec.pipeline import Pipeline


def result_checks(transformed: DataFrame, pipeline: Pipeline) -> tuple[Callable[[], None], ...]:
    """Each look as a function that raises a `SpecError` where something is wrong.

    Args:
        transformed: The transform's result, with the partition columns.
    """
    spec, path = pipeline.spec, pipeline.transform_file
    return (
        partial(refuse_unfit_columns, transformed.schema, spec, path),
        partial(
            refuse_unrepeatable,
            transformed,
            path,
            spec.output.mode,
            deterministic=spec.deterministic,
        ),
        partial(refuse_keys, transformed, spec, pipeline.spec_file),
        partial(refuse_unfaithful_types, transformed.schema, spec, pipeline.spec_file),
    )
