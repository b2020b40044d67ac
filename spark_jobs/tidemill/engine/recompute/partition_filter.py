"""Filters rows by whole partitions, as the sink gets them."""

from collections.abc import Callable, Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemill.file_formats.reader import REJECT
from tidemill.journal.partition_set import Partitions
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.column_types import quoted, quoted_text

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
    columns, values = partitions.columns, partitions.values

    def keep(rows: DataFrame) -> DataFrame:
        texts = (f"CAST({quoted(name)} AS STRING)" for name in columns)
        good = is_one_of([f"coalesce({text}, {_text(NULL_PARTITION)})" for text in texts], values)
        would = [f"{REJECT}.partition[{_text(name)}]" for name in columns]
        refused = is_one_of(would, values)
        if origins:
            nowhere = " OR ".join(f"coalesce({one} = '', true)" for one in would)
            refused |= F.expr(nowhere) & F.col(f"{REJECT}.file").isin([*origins])
        return rows.where(F.when(F.col(REJECT).isNotNull(), refused).otherwise(good))

    return keep


def is_one_of(columns: Sequence[str], values: Iterable[tuple[str, ...]]) -> Column:
    """Whether some columns together have one of some values; never null.

    It is one text in SQL: thousands of literals would each take some calls to the JVM.

    Args:
        columns: Expressions in SQL, each a text.
    """
    listed = ", ".join(f"({', '.join(map(_text, value))})" for value in values)
    return F.expr(f"coalesce(({', '.join(columns)}) IN ({listed}), false)")


def _text(value: str) -> str:
    # Spark puts variables into ${}, even within a text.
    return quoted_text(value).replace("$", "\\u0024")
