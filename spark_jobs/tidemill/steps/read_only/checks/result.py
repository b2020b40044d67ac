"""Checks the columns that spec and suite name against those of the result, without Spark."""

from collections.abc import Iterator

from tidemill.spec.complaints import Location, field_name
from tidemill.spec.spec import Spec
from tidemill.steps.read_only.checks.expressions import unknown_words
from tidemill.steps.read_only.checks.problem import Places, Problem
from tidemill.steps.read_only.checks.result_columns import source_partitions
from tidemill.steps.read_only.checks.select_columns import Columns
from tidemill.steps.read_only.checks.spark_sql import nearest


def problems_of_result(spec: Spec, places: Places, result: Columns) -> Iterator[Problem]:
    """The columns that the spec names and the result does not have.

    Args:
        places: Where the spec's values come from.
        result: The columns of the published rows.
    """
    for at, name in _named(spec):
        for word in unknown_words([name], result):
            what = f"{field_name(at)} names '{word}', which is not a column of the result"
            yield places.problem(at, what, nearest(word, result))


def _named(spec: Spec) -> Iterator[tuple[Location, str]]:
    for number, name in enumerate(spec.output.keys):
        yield ("output", "keys", number), name
    for number, name in enumerate(spec.gate.mask):
        yield ("gate", "mask", number), name
    for number, target in enumerate(spec.publish if spec.published else ()):
        for field, name in target.columns_named:
            yield ("publish", number, field), name


def dropped_partitions(spec: Spec, selected: Columns) -> list[str]:
    """The partition columns that a SELECT leaves out, though they are computed before it.

    Args:
        selected: The columns of its rows.
    """
    kept = {name.lower() for name in selected}
    return [name for name in source_partitions(spec) if name.lower() not in kept]
