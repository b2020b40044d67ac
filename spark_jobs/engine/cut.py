"""The cut to whole partitions, of rows as the sink gets them."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.engine.rows import REJECT
from spark_jobs.ledger.partitions import Partitions

Keep = Callable[[DataFrame], DataFrame]


def keeping(partitions: Partitions | None) -> Keep:
    """The cut to whole partitions, for good and rejected rows as the sink gets them.

    Args:
        partitions: None, or those of the whole table, for all rows. Else rejected rows without a
            partition are left out.
    """
    if partitions is None or partitions.everything:
        return lambda rows: rows
    columns, values = partitions.columns, [*partitions.values]

    def keep(rows: DataFrame) -> DataFrame:
        good = _in([F.col(f"`{name}`").cast("string") for name in columns], values)
        would = [F.col(f"{REJECT}.partition").getItem(name) for name in columns]
        refused = F.col(REJECT).isNotNull()
        return rows.where(F.when(refused, _in(would, values)).otherwise(good))

    return keep


def _in(columns: list[Column], values: list[tuple[str, ...]]) -> Column:
    if len(columns) == 1:
        found = columns[0].isin([value[0] for value in values])
    else:
        wanted = [F.struct(*map(F.lit, value)) for value in values]
        found = F.struct(*columns).isin(wanted)
    return F.coalesce(found, F.lit(False))
