"""SQL over what consumers see of all pipelines, by DuckDB and without a JVM.

Nothing but reading is possible: DuckDB reaches no file, no network and no extension, and what it
may read are the files of a Delta table's newest version, handed to it as Arrow datasets.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta import open_dataset
from tidemill.file_formats.delta_log import has_table

if TYPE_CHECKING:
    import duckdb

SANDBOX = (
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class QueryRefused(UsageError):
    """A query that does not only read, or that DuckDB cannot run; carries `tables`."""


class Answer(FrozenModel):
    """The rows of a query.

    Attributes:
        columns: Their names, in order; those that are there twice have a number at the end.
        rows: Column -> value, in the query's order.
        more: Whether there are more of them.
    """

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    more: bool


def tables_of(root: Path, pipelines: Iterable[str]) -> dict[str, Path]:
    """The names that a query may use -> Delta table, of everything that is published.

    Args:
        pipelines: Their names; the rejected rows of one are `<name>_rejected`.
    """
    layouts = [Layout(root, name) for name in pipelines]
    found = {f"{layout.name}_rejected": layout.rejected for layout in layouts}
    # A pipeline of such a name has the older right to it.
    found |= {layout.name: layout.table for layout in layouts}
    return {name: path for name, path in sorted(found.items()) if has_table(path)}


def answer(sql: str, tables: dict[str, Path], limit: int) -> Answer:
    """Run a query.

    Args:
        sql: One SELECT, in DuckDB's dialect.
        tables: From `tables_of`; only those that the query names are opened.
        limit: Most rows to return.

    Raises:
        QueryRefused: it is not a SELECT, or DuckDB says no.
    """
    import duckdb

    connected = duckdb.connect(
        ":memory:", config={"temp_directory": "", "python_enable_replacements": False}
    )
    try:
        _must_only_read(connected, sql, tables)
        for name in connected.get_table_names(sql):
            if name.lower() in tables:
                connected.register(name, open_dataset(tables[name.lower()]))
        for setting in SANDBOX:
            connected.execute(setting)
        return _rows(connected.sql(sql), limit)
    except duckdb.Error as error:
        raise _refused(" ".join(str(error).splitlines()[0].split()), tables) from error
    finally:
        connected.close()


def _must_only_read(
    connected: duckdb.DuckDBPyConnection, sql: str, tables: dict[str, Path]
) -> None:
    import duckdb

    kinds = [statement.type for statement in connected.extract_statements(sql)]
    if kinds != [duckdb.StatementType.SELECT]:
        what = ", ".join(kind.name for kind in kinds) or "nothing"
        raise _refused(f"One SELECT is expected, and this is {what}.", tables)


def _rows(relation: duckdb.DuckDBPyRelation, limit: int) -> Answer:
    # Not by LIMIT, which need not keep the order of what it stands around.
    reader = relation.to_arrow_reader(limit + 1)
    columns = _unlike(reader.schema.names)
    found: list[dict[str, Any]] = []
    for batch in reader:
        batch = batch.rename_columns(list(columns))
        found += batch.to_pylist(maps_as_pydicts="lossy")
        if len(found) > limit:
            break
    return Answer(columns=columns, rows=tuple(found[:limit]), more=len(found) > limit)


def _unlike(names: list[str]) -> tuple[str, ...]:
    unlike: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in unlike:
            candidate, number = f"{name}_{number}", number + 1
        unlike.append(candidate)
    return tuple(unlike)


def _refused(what: str, tables: dict[str, Path]) -> QueryRefused:
    published = f"The published tables are {', '.join(tables)}."
    return QueryRefused(
        what,
        remedy=published if tables else "No table is published yet.",
        tables=list(tables),
    )
