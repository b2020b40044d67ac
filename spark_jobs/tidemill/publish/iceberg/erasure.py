"""Erased rows leave an Iceberg table: its files in the current snapshot, then all earlier ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, cast

from pyiceberg.expressions import And, BooleanExpression, In
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask, Table

from tidemill.file_formats.parquet import read_footer
from tidemill.publish.erased_rows import ErasedRows
from tidemill.publish.head import Head
from tidemill.publish.iceberg.data_files import data_file, location_of
from tidemill.publish.iceberg.earlier import ERASE, EarlierSnapshots
from tidemill.publish.iceberg.snapshots import KIND, SNAPSHOT, of_head

# As its own constructor takes its arguments, and not as its fields are declared.
ONE_OF: Callable[[str, Iterable[Any]], BooleanExpression] = cast("Any", In)


@dataclass(frozen=True)
class TableErasure:
    """An erasure from one table.

    Args:
        target: Its name.
        table: As it is now.
        rows: What goes.
    """

    target: str
    table: Table
    rows: ErasedRows

    def count(self) -> int:
        """How many of the rows the current snapshot holds.

        Raises:
            RowsKept: some would stay in what is not erased.
        """
        self._refuse_kept()
        condition = self._condition
        return 0 if condition is None else self.table.scan(row_filter=condition).count()

    def commit(self, head: Head) -> None:
        """Take the rows out of the current snapshot; nothing where no snapshot has them.

        Args:
            head: The table's head from then on.
        """
        gone = [task.file for task in self._live if task.file.file_path in self._files]
        elsewhere = self._hold_rows([one for one in self._live if one.file not in gone])
        earlier = self._earlier
        named = any(path in self._files for o in earlier.older for path in earlier.data_files(o))
        if not (gone or elsewhere or named):
            return
        said = {**of_head(head), KIND: ERASE}
        transaction = self.table.transaction()
        if gone:
            producer = transaction.update_snapshot(said).overwrite()
            for file in gone:
                producer.delete_data_file(file)
                new = self._without(file)
                if new is not None:
                    producer.append_data_file(new)
            producer.commit()
        if elsewhere and self._condition is not None:
            # Files that another engine has written: they are written again in their own place.
            transaction.delete(self._condition, said)
        last = transaction.update_snapshot(said).fast_append()
        last.commit()
        transaction.set_properties({**of_head(head), SNAPSHOT: str(last.snapshot_id)})
        transaction.commit_transaction()

    @property
    def _earlier(self) -> EarlierSnapshots:
        return EarlierSnapshots(self.target, self.table)

    @property
    def _condition(self) -> BooleanExpression | None:
        names = self.table.schema().column_names
        if not all(name in names for name in self.rows.columns):
            return None
        alike = (ONE_OF(name, values) for name, values in self.rows.columns.items())
        return reduce(And, alike)

    @property
    def _files(self) -> Mapping[str, Path]:
        return {location_of(old): new for old, new in self.rows.files.items()}

    @cached_property
    def _live(self) -> list[FileScanTask]:
        return [*self.table.scan().plan_files()]

    def _hold_rows(self, tasks: Sequence[FileScanTask]) -> bool:
        condition = self._condition
        if condition is None or not tasks:
            return False
        columns = self.table.schema().select(*self.rows.columns)
        scan = ArrowScan(self.table.metadata, self.table.io, columns, condition)
        return any(found.num_rows for found in scan.to_record_batches(tasks))

    def _without(self, file: DataFile) -> DataFile | None:
        """The entry of a file without the rows; None where it has no other ones."""
        new = self._files[file.file_path]
        footer = read_footer(new)
        if not footer.rows:
            return None
        partition = [file.partition[place] for place in range(len(file.partition))]
        return data_file(self.table.metadata, location_of(new), footer, partition)

    def _refuse_kept(self) -> None:
        self._earlier.refuse_kept()
        spec = self.table.metadata.default_spec_id
        for task in self._live:
            if task.delete_files or task.file.spec_id != spec:
                raise self._earlier.kept(
                    f"another engine has deleted rows of {task.file.file_path}, or changed the "
                    "table's partitions",
                    "Let that engine write the table's data files again first.",
                )
