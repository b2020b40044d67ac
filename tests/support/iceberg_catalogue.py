"""An Iceberg catalogue in a SQLite file or on a server, and what readers see of a table in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import polars
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from tidemill.contract.objects.object_path import path_of

TABLE = "sales.orders"


@dataclass(frozen=True)
class Catalogue:
    """A catalogue.

    Args:
        home: An empty folder, for its database and its tables' metadata.
        warehouse: Where the tables' metadata goes otherwise.
        store: PyIceberg's properties of the object store that they and their files are in.
        server: PyIceberg's `type` and `uri` of a server that keeps the catalogue instead.
    """

    home: Path
    warehouse: str = ""
    store: Mapping[str, str] = field(default_factory=dict)
    server: Mapping[str, str] = field(default_factory=dict)

    @property
    def properties(self) -> dict[str, str]:
        if self.server:
            return {**self.server, **self.store}
        return {
            "type": "sql",
            "uri": f"sqlite:///{self.home}/catalogue.db",
            "warehouse": self.warehouse or f"file://{self.home}",
            **self.store,
        }

    @property
    def target(self) -> str:
        """The target of a spec."""
        inside = ", ".join(f'{name}: "{value}"' for name, value in self.properties.items())
        # Tests share the warehouse that a server chooses.
        shared = "warehouse" not in self.properties
        place = f', location: "file://{self.home}/orders"' if shared else ""
        return f"{{kind: iceberg, table: {TABLE}{place}, properties: {{{inside}}}}}"

    def open(self) -> Catalog:
        return load_catalog("tidemill", **self.properties)

    def empty(self) -> None:
        """Drop the table's namespace with all tables; their files stay."""
        catalog = self.open()
        namespace = TABLE.split(".")[0]
        if catalog.namespace_exists(namespace):
            for table in catalog.list_tables(namespace):
                catalog.drop_table(table)
            catalog.drop_namespace(namespace)

    def table(self) -> Table:
        return self.open().load_table(TABLE)

    def rows(self, *columns: str) -> Counter[tuple[Any, ...]]:
        """The rows that PyIceberg reads."""
        found = self.table().scan(selected_fields=columns).to_arrow().to_pylist()
        return Counter(tuple(one[name] for name in columns) for one in found)

    def rows_in_others(self, *columns: str) -> list[Counter[tuple[Any, ...]]]:
        """The rows that Polars' own reader finds, and DuckDB in PyIceberg's batches."""
        in_polars = polars.scan_iceberg(self.table(), reader_override="native").select(columns)
        batches = self.table().scan(selected_fields=columns).to_arrow_batch_reader()
        in_duckdb = duckdb.from_arrow(batches).project(", ".join(columns))
        return [Counter(in_polars.collect().rows()), Counter(in_duckdb.fetchall())]

    def ids(self) -> list[int]:
        return sorted(number for (number,) in self.rows("id").elements())

    def comments(self) -> dict[str, str]:
        """Column -> its comment, of those that have one."""
        return {one.name: one.doc for one in self.table().schema().fields if one.doc}

    def files(self) -> set[Path]:
        """The data files of the current snapshot."""
        tasks = self.table().scan().plan_files()
        return {path_of(task.file.file_path.removeprefix("file://")) for task in tasks}
