"""Expressions of the spec that Spark refuses, named by their field."""

from collections.abc import Callable, Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemill.contract.errors import SpecError
from tidemill.engine.sources.columns import CORRUPT, ORIGIN, RECORD
from tidemill.engine.spark_errors import said


class ExpressionRefused(SpecError):
    """Spark refuses an expression of the spec; carries `field` and `condition`."""


def refuse_expressions(
    rows: DataFrame, expressions: Mapping[str, str], field: Callable[[str], str]
) -> None:
    """Refuse the first expression that Spark refuses by itself.

    Args:
        rows: What the expressions are computed of.
        expressions: Key -> SQL.
        field: Gives the field of the spec for a key.

    Raises:
        ExpressionRefused: there is one.
    """
    # Spark proposes columns by name, and a spec may not use the engine's own.
    rows = rows.drop(CORRUPT, ORIGIN, RECORD)
    for key, expression in expressions.items():
        try:
            rows.select(F.expr(expression))
        except AnalysisException as error:
            raise ExpressionRefused(
                f"{field(key)} is refused: Spark cannot read '{expression}': {said(error)}",
                remedy="Correct it in the spec.",
                path=None,
                line=None,
                field=field(key),
                condition=error.getCondition(),
            ) from error
