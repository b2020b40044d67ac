"""Leaves out the rows of excluded input, before anything else sees them.

A query that reads its sources again meets what a person excluded again. Spark lists and counts it
like any other input; its rows go no further.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemill.engine.sources.columns import ORIGIN
from tidemill.engine.spark_internals.encoded_path import encoded_path
from tidemill.increments.exclusions import Excluded
from tidemill.spark_logs.offset_ranges import Range


def leave_out(sources: Mapping[str, DataFrame], excluded: Excluded) -> dict[str, DataFrame]:
    """The rows of sources without those of excluded input.

    Args:
        sources: Source -> its rows, with `_origin`.
        excluded: What does not count. A file counts that came into the place of an excluded one.
    """
    if not excluded:
        return dict(sources)
    return {name: _without(name, rows, excluded) for name, rows in sources.items()}


def _without(name: str, rows: DataFrame, excluded: Excluded) -> DataFrame:
    files = [
        file.path for file in excluded.files if file.source == name and file.is_at(file.on_disk)
    ]
    conditions = [_within(one) for one in (excluded.ranges or {}).get(name, ())]
    if files:
        conditions.append(F.col(ORIGIN).isin(*_uris(rows.sparkSession, files)))
    return rows.where(~reduce(or_, conditions)) if conditions else rows


def _uris(session: SparkSession, paths: Iterable[str]) -> list[str]:
    """How Spark may write the paths of files in `_metadata.file_path`."""
    encoded = [encoded_path(session, one) for one in sorted(paths)]
    return [f"{scheme}{one}" for one in encoded for scheme in ("file:", "file://")]


def _within(one: Range) -> Column:
    parts = F.split(F.col(ORIGIN), "[:/]")
    offset = parts[3].cast("long")
    return (
        (parts[1] == one.topic)
        & (parts[2] == str(one.partition))
        & (offset >= one.first)
        & (offset < one.until)
    )
