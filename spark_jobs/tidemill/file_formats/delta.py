"""The Delta table as consumers see it: version, counts and rows, without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import UsageError
from tidemill.contract.objects.object_path import path_of
from tidemill.file_formats.arrow_files import file_system
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset
    from deltalake import DeltaTable


class NoSuchVersion(UsageError):
    """A table has no such version, or no longer; carries `version` and `newest`."""


class Head(FrozenModel):
    """A version of a table.

    Attributes:
        files: Data files.
        rows: By the log's statistics; None where somebody else added files without them.
    """

    version: int
    files: int
    rows: int | None


class Rows(FrozenModel):
    """Some rows of a version of a table, in no particular order.

    Attributes:
        version: None where nothing was published yet.
        total: Rows of the whole version; None as in `Head`.
        columns: Their names, in the table's order.
        rows: Column -> value.
    """

    version: int | None
    total: int | None
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]


def read_head(path: Path) -> Head | None:
    """The newest version of a table, or None where there is no table yet."""
    table = _open(path)
    return None if table is None else _head(table)


def read_rows(path: Path, limit: int, version: int | None = None) -> Rows:
    """The first rows that a reader meets.

    Args:
        limit: Most rows to return.
        version: The version of the table; the newest where not given.

    Raises:
        NoSuchVersion: the table has no such version.
    """
    if version is None and not has_table(path):
        return Rows(version=None, total=0, columns=(), rows=())
    table = open_version(path, version)
    found = open_dataset(path, table).head(limit)
    head = _head(table)
    return Rows(
        version=head.version,
        total=head.rows,
        columns=tuple(found.schema.names),
        rows=tuple(found.to_pylist(maps_as_pydicts="lossy")),
    )


def read_schema(path: Path) -> pa.Schema:
    """The columns of a table's newest version."""
    import pyarrow as pa

    return pa.schema(open_table(path).schema().to_arrow())


def data_files(path: Path) -> frozenset[Path]:
    """The data files of a table's newest version; none where there is no table."""
    table = _open(path)
    return frozenset(map(_path_of_uri, table.file_uris())) if table else frozenset()


def open_dataset(path: Path, table: DeltaTable | None = None) -> pa.dataset.Dataset:
    """The rows of a table, as an Arrow dataset over its files.

    By default deltalake hands Arrow a file system in Python. Arrow's threads then still call into
    Python when the interpreter ends, and abort it or wait for ever (deltalake 1.6.6, pyarrow 26).

    Args:
        table: A version of it; the newest where not given.
    """
    files = file_system(path)
    return (table or open_table(path)).to_pyarrow_dataset(filesystem=files)


def _path_of_uri(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path)) if uri.startswith("file:") else path_of(uri)


def _open(path: Path) -> DeltaTable | None:

    return open_table(path) if has_table(path) else None


def open_version(path: Path, version: int | None = None) -> DeltaTable:
    """A version of a table; the newest where not given.

    Raises:
        NoSuchVersion: the table has no such version, or there is no table.
    """
    from deltalake.exceptions import DeltaError

    table = _open(path)
    if table is None:
        raise _no_version(path, version, None)
    newest = table.version()
    if version is None:
        return table
    if version > newest:
        raise _no_version(path, version, newest)
    try:
        return open_table(path, version=version)
    except DeltaError as error:
        raise _no_version(path, version, newest) from error


def _no_version(path: Path, version: int | None, newest: int | None) -> NoSuchVersion:
    what = "version" if version is None else f"version {version}"
    return NoSuchVersion(
        f"{path} has no {what}.",
        remedy="Nothing is published yet." if newest is None else f"The newest is {newest}.",
        version=version,
        newest=newest,
    )


def _head(table: DeltaTable) -> Head:
    import pyarrow as pa

    # `pa.table` would import pandas to see whether this is one of its frames.
    actions = pa.RecordBatchReader.from_stream(table.get_add_actions()).read_all()
    counts = actions["num_records"]
    rows = None if counts.null_count else sum(counts.to_pylist())
    return Head(version=table.version(), files=len(counts), rows=rows)
