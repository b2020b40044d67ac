"""One pass over the source for good and rejected rows, where the transform allows it.

The transform sees good rows only, so the obvious plan reads and parses the source twice: once for
the good rows, once for the rejected ones. Where the transform is made of projections and filters
only, the same result comes from one pass: every computed expression and every filter is guarded by
"unless the row is rejected", and the rejection travels along. Any other transform (joins,
aggregates, Python UDFs, which run whatever guards them) gets the two passes.

This works on Catalyst's analysed plan, the only place where an arbitrary DataFrame function can be
looked into; a test holds both ways against each other.
"""

from pyspark.sql import DataFrame

from tidemill.engine.spark_internals.guarded_steps import guarded, step_classes
from tidemill.file_formats.reader import REJECT
from tidemill.ledger.batch import RowsPerRow


def one_pass(tagged: DataFrame, good: DataFrame, transformed: DataFrame) -> DataFrame | None:
    """The transform's rows and the rejected ones in one pass.

    Args:
        tagged: The source's rows with `_reject`.
        good: Those of `tagged` that the transform was given.
        transformed: What it made of them.

    Returns:
        The transform's columns (null for a rejected row) and `_reject`; None where the transform is
        not made of projections and filters only.
    """
    return guarded(tagged, good, transformed, REJECT)


def rows_per_row(good: DataFrame, transformed: DataFrame) -> RowsPerRow:
    """How many rows a transform makes of each row that it is given.

    Args:
        good: The rows that it was given.
        transformed: What it made of them.
    """
    steps = step_classes(transformed, good)
    if steps is None:
        return "any"
    return "at_most_one" if "Filter" in steps else "one"
