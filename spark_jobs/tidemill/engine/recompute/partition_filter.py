"""Filters rows by whole partitions, as the sink gets them."""

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemill.file_formats.reader import REJECT
from tidemill.journal.partition_set import Partitions
from tidemill.spark_logs.partition_paths import NULL_PARTITION

Keep = Callable[[DataFrame], DataFrame]


def partition_filter(partitions: Partitions | None, origins: Sequence[str] = ()) -> Keep:
    """The cut to whole partitions, for good and rejected rows as the sink gets them.

    Args:
        partitions: None, or those of the whole table, for all rows. Otherwise rejects without a
            partition are left out.
        origins: But those that come from here.
    """
    if partitions is None or partitions.everything:
        return lambda rows: rows
    columns, values = partitions.columns, [*partitions.values]

    def keep(rows: DataFrame) -> DataFrame:
        texts = (F.col(f"`{name}`").cast("string") for name in columns)
        good = _in([F.coalesce(text, F.lit(NULL_PARTITION)) for text in texts], values)
        would = [F.col(f"{REJECT}.partition").getItem(name) for name in columns]
        refused = _in(would, values)
        if origins:
            nowhere = reduce(Column.__or__, (F.coalesce(one == "", F.lit(True)) for one in would))
            refused |= nowhere & F.col(f"{REJECT}.file").isin([*origins])
        return rows.where(F.when(F.col(REJECT).isNotNull(), refused).otherwise(good))

    return keep


def _in(columns: list[Column], values: list[tuple[str, ...]]) -> Column:
    if len(columns) == 1:
        matches = columns[0].isin([value[0] for value in values])
    else:
        literals = [F.struct(*map(F.lit, value)) for value in values]
        matches = F.struct(*columns).isin(literals)
    return F.coalesce(matches, F.lit(False))
