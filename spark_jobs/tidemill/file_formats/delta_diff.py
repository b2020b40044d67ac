"""The rows that separate two versions of a Delta table, or two tables, without a JVM.

Only the files that are in one of the two are read: what both have is the same.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import UsageError
from tidemill.file_formats.delta import NoSuchVersion, open_dataset, open_version
from tidemill.file_formats.delta_log import has_table

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset

# In the column `change`.
ADDED, REMOVED = "+", "-"


class NotComparable(UsageError):
    """Two versions have a column with different types; carries `first` and `last`."""


class RowsDiff(FrozenModel):
    """The rows in which two tables differ.

    Attributes:
        added: Rows that are in the second and not in the first; a changed row is removed and added.
        removed: Rows that are in the first and not in the second.
        columns: Those of both, in order.
        rows: Some of these rows: column -> value, and `change`, which is `+` or `-`.
    """

    added: int
    removed: int
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]


class TableDiff(RowsDiff):
    """The difference of two versions.

    Attributes:
        first: The older version, or the one that was named first.
        last: The version that is compared with it.
    """

    first: int
    last: int


def read_diff(path: Path, first: int | None, last: int | None, limit: int) -> TableDiff:
    """Compare two versions of a table, row by row; a row may be there several times.

    Args:
        first: A version; the one before `last` where not given.
        last: A version; the newest where not given.
        limit: Most rows to return, half of either kind where there are enough.

    Raises:
        NoSuchVersion: the table has no such version, or only one.
        NotComparable: a column changed its type in between.
    """
    import pyarrow as pa

    newer = open_version(path, last)
    to = newer.version()
    if first is None and to == 0:
        raise NoSuchVersion(
            f"{path} has one version.",
            remedy="Compare when something more was published.",
            version=-1,
            newest=0,
        )
    older = open_version(path, to - 1 if first is None else first)
    try:
        before, after = open_dataset(path, older), open_dataset(path, newer)
        found = rows_apart(before, after, limit, _paths(before) & _paths(after))
    except pa.ArrowException as error:
        raise NotComparable(
            f"Versions {older.version()} and {to} of {path} differ in a type: {error}.",
            remedy="Compare versions of the same side of that change.",
            first=older.version(),
            last=to,
        ) from error
    return TableDiff(first=older.version(), last=to, **dict(found))


def open_newest(path: Path) -> pa.dataset.Dataset | None:
    """The rows of a table's newest version; None where there is no table."""
    return open_dataset(path) if has_table(path) else None


def rows_apart(
    before: pa.dataset.Dataset,
    after: pa.dataset.Dataset,
    limit: int,
    shared: Collection[str] = (),
) -> RowsDiff:
    """Compare two datasets row by row; a row may be there several times.

    Args:
        limit: Most rows to return.
        shared: The paths of files that are in both, and are not read.

    Raises:
        pyarrow.ArrowException: a column has different types in them.
    """
    import duckdb
    import pyarrow as pa

    schema = pa.unify_schemas([before.schema, after.schema])
    with duckdb.connect() as connected:
        connected.register("before", _without(before, shared, schema))
        connected.register("after", _without(after, shared, schema))
        found = {}
        for change, query in (
            (ADDED, "FROM after EXCEPT ALL FROM before"),
            (REMOVED, "FROM before EXCEPT ALL FROM after"),
        ):
            connected.execute(f"CREATE TEMP TABLE apart AS {query}")
            ((count,),) = connected.execute("SELECT count(*) FROM apart").fetchall()
            shown = connected.sql("FROM apart").limit(limit).to_arrow_table()
            found[change] = (count, shown.to_pylist(maps_as_pydicts="lossy"))
            connected.execute("DROP TABLE apart")
    return RowsDiff(
        added=found[ADDED][0],
        removed=found[REMOVED][0],
        columns=tuple(schema.names),
        rows=tuple(_some(found[REMOVED][1], found[ADDED][1], limit)),
    )


def _paths(dataset: pa.dataset.Dataset) -> set[str]:
    return {fragment.path for fragment in dataset.get_fragments()}


def _without(
    dataset: pa.dataset.Dataset, shared: Collection[str], schema: pa.Schema
) -> pa.dataset.Dataset:
    """The rows of the files that the other version lacks, with the columns of both versions."""
    import pyarrow.dataset as ds

    if not shared:
        return dataset.replace_schema(schema)
    kept = [one for one in dataset.get_fragments() if one.path not in shared]
    return ds.FileSystemDataset(
        kept, schema, ds.ParquetFileFormat(), getattr(dataset, "filesystem", None)
    )


def _some(removed: list[Any], added: list[Any], limit: int) -> list[dict[str, Any]]:
    half = max(limit // 2, limit - len(added))
    marked = [{"change": REMOVED, **row} for row in removed[:half]]
    return [*marked, *({"change": ADDED, **row} for row in added[: limit - len(marked)])]
