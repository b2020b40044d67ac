"""The rows of an event for a database table, with keys, generation and batch."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.journal.partition_set import Partitions
from tidemill.publish.database.session import BATCH, GENERATION
from tidemill.publish.database.storable import Storable
from tidemill.publish.encoding import is_nested
from tidemill.publish.payload import Payload
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.targets import DatabaseMode

ENGINE_COLUMNS = (pa.field(GENERATION, pa.string()), pa.field(BATCH, pa.int64()))


class KeyUnfit(Refused):
    """`output.keys` cannot be the table's key; carries `keys` and `why`."""


@dataclass(frozen=True)
class Incoming:
    """The rows that come into a table.

    Args:
        mode: What becomes of those that are there.
    """

    payload: Payload
    mode: DatabaseMode

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the table's primary key; none where rows only come and go."""
        return self.payload.keys if self.mode == "upsert" else ()

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (*self.payload.schema, *ENGINE_COLUMNS)

    @property
    def columns(self) -> list[str]:
        return [field.name for field in self.fields]

    def check_keys(self) -> None:
        """Prove that there are columns of these names which a key can be made of.

        Raises:
            KeyUnfit: there are not.
        """
        schema = self.payload.schema
        for name in self.keys:
            if name not in schema.names:
                raise self._unfit(name, f"is not a column; there are {', '.join(schema.names)}")
            if is_nested(schema.field(name).type):
                raise self._unfit(name, f"is of type {schema.field(name).type}")

    def partition_values(self, partitions: Partitions) -> dict[str, pa.Array]:
        """Column -> its value in each of some partitions, of the column's type."""
        schema = self.payload.schema
        named = [[None if v == NULL_PARTITION else v for v in one] for one in partitions.values]
        texts = zip(*named, strict=True) if named else ((),)
        return {
            name: pa.array(values, pa.string()).cast(schema.field(name).type)
            for name, values in zip(partitions.columns, texts, strict=False)
        }

    def chunks(self, storable: Storable) -> Iterator[pa.RecordBatch]:
        """The rows, with `columns`.

        Raises:
            KeyUnfit: a key is null.
            Unstorable: a value has no place in the database.
        """
        for batch, chunk in self.payload.read():
            stored = storable.of(chunk)
            for name in self.keys:
                if nulls := stored.column(name).null_count:
                    raise self._unfit(name, f"is null in {counted(nulls, 'row')}")
            yield pa.RecordBatch.from_arrays(
                [
                    *stored.columns,
                    pa.repeat(self.payload.generation, chunk.num_rows),
                    pa.repeat(pa.scalar(batch, pa.int64()), chunk.num_rows),
                ],
                names=self.columns,
            )

    def _unfit(self, name: str, why: str) -> KeyUnfit:
        return KeyUnfit(
            f"output.keys names '{name}', which {why}.",
            remedy="A key tells rows apart: correct output.keys, or reject such rows by a row "
            "rule. Nothing was published to this target.",
            keys=self.keys,
            why=why,
        )
