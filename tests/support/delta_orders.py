"""A Delta table of orders, as another pipeline might have published it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

DDL = "id int, day date"


@dataclass
class DeltaOrders:
    """The table at a path, partitioned by day; it comes to be with the first rows."""

    path: Path

    def add(self, *ids: int, day: int = 1) -> int:
        """Add rows of one day of March 2026; the version of the table after that."""
        return self._append(_rows(ids, day))

    def add_a_day_each(self, *ids: int) -> int:
        """Add a row to each of the first days of March 2026, a file each, as one version."""
        days = (_rows([number], day) for day, number in enumerate(ids, 1))
        return self._append(pa.concat_tables(days))

    def swap(self, *ids: int, day: int = 1) -> int:
        """Put rows in the place of those of a day."""
        predicate = f"day = '2026-03-{day:02}'"
        write_deltalake(self.path, _rows(ids, day), mode="overwrite", predicate=predicate)
        return self.version

    def compact(self) -> int:
        """Rewrite the files, with the same rows."""
        DeltaTable(self.path).optimize.compact()
        return self.version

    def expire_log(self) -> None:
        """Write a checkpoint of the log, and drop the entries that it stands for."""
        DeltaTable(self.path).create_checkpoint()
        for number in range(self.version):
            (self.path / "_delta_log" / f"{number:020}.json").unlink()

    def _append(self, rows: pa.Table) -> int:
        write_deltalake(self.path, rows, mode="append", partition_by=["day"])
        return self.version

    @property
    def version(self) -> int:
        return DeltaTable(self.path).version()

    @property
    def id(self) -> str:
        return str(DeltaTable(self.path).metadata().id)


def _rows(ids: Sequence[int], day: int) -> pa.Table:
    days = pa.array([f"2026-03-{day:02}"] * len(ids)).cast(pa.date32())
    return pa.table({"id": pa.array(ids, pa.int32()), "day": days})
