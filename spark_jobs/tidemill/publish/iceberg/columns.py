"""Compares the columns of an Iceberg table with those of an event, and changes the table's."""

from collections.abc import Sequence

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform

from tidemill.contract.errors import Refused
from tidemill.publish.delta.table_schema import changed
from tidemill.publish.iceberg.name_mapping import keep_mapping


class PartitionsChanged(Refused):
    """An Iceberg table has other partitions than the files; carries both: `table`, `files`."""


def nullable(schema: pa.Schema) -> pa.Schema:
    """The columns as an Iceberg table has them: everything nullable, and types that it knows."""
    return pa.schema([_field(field) for field in schema])


def columns_of(table: Table) -> pa.Schema:
    """The columns of a table in the words of `nullable`."""
    return nullable(schema_to_pyarrow(table.schema(), include_field_ids=False))


def check_partitions(metadata: TableMetadata, partition_by: Sequence[str]) -> None:
    """Prove that a table is partitioned by the columns that the sink's files do not hold.

    Raises:
        PartitionsChanged: it is not, and readers would see null in such a column.
    """
    found = tuple(f"{field.transform}({field.name})" for field in metadata.spec().fields)
    if not _is_partitioned(metadata, partition_by):
        raise PartitionsChanged(
            f"The Iceberg table is partitioned by {', '.join(found) or 'nothing'}, and the files "
            f"by {', '.join(partition_by) or 'nothing'}.",
            remedy="Give the table these columns as identity partitions, and no others; nothing "
            "was published to it.",
            table=found,
            files=tuple(partition_by),
        )


def add_columns(transaction: Transaction, table: pa.Schema, offered: pa.Schema) -> None:
    """Add the columns that a table lacks.

    Args:
        table: The table's columns.
        offered: Those of the event, by `nullable`.

    Raises:
        SchemaChanged: a column has another type, or one of the table's is missing.
    """
    for name in table.names:
        kind = offered.field(name).type if name in offered.names else None
        if kind != table.field(name).type:
            raise changed(name, str(table.field(name).type), None if kind is None else str(kind))
    _add(transaction, [field for field in offered if field.name not in table.names])


def replace_columns(
    transaction: Transaction, table: pa.Schema, offered: pa.Schema, partition_by: Sequence[str]
) -> None:
    """Give a table the columns and partitions of a replacement.

    Raises:
        SchemaChanged: a column that the table was partitioned by goes or has another type, which
            readers of older snapshots could not do without.
    """
    metadata = transaction.table_metadata
    sources = {
        str(metadata.schema().find_column_name(field.source_id))
        for spec in metadata.partition_specs
        for field in spec.fields
    }
    gone = []
    for field in table:
        kind = offered.field(field.name).type if field.name in offered.names else None
        if kind == field.type:
            continue
        if field.name in sources:
            raise changed(field.name, str(field.type), None if kind is None else str(kind))
        gone.append(field.name)
    if gone:
        with transaction.update_schema(allow_incompatible_changes=True) as update:
            for name in gone:
                update.delete_column(name)
    _add(transaction, [field for field in offered if field.name not in {*table.names} - {*gone}])
    _partition(transaction, partition_by)


def create_columns(transaction: Transaction, partition_by: Sequence[str]) -> None:
    """Give a new table its partitions and the names of its columns in files."""
    _partition(transaction, partition_by)
    keep_mapping(transaction)


def _add(transaction: Transaction, fields: Sequence[pa.Field]) -> None:
    if fields:
        with transaction.update_schema() as update:
            update.union_by_name(pa.schema(fields))
    keep_mapping(transaction)


def _partition(transaction: Transaction, partition_by: Sequence[str]) -> None:
    metadata = transaction.table_metadata
    if _is_partitioned(metadata, partition_by):
        return
    there = {field.name for field in metadata.spec().fields if _is_identity(metadata, field)}
    with transaction.update_spec() as update:
        for field in metadata.spec().fields:
            if field.name not in there & {*partition_by}:
                update.remove_field(field.name)
        for name in partition_by:
            if name not in there:
                update.add_identity(name)


def _is_partitioned(metadata: TableMetadata, partition_by: Sequence[str]) -> bool:
    fields = metadata.spec().fields
    names = sorted(field.name for field in fields)
    return names == sorted(partition_by) and all(_is_identity(metadata, one) for one in fields)


def _is_identity(metadata: TableMetadata, field: PartitionField) -> bool:
    source = metadata.schema().find_column_name(field.source_id)
    return isinstance(field.transform, IdentityTransform) and source == field.name


def _field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _type(field.type), nullable=True)


def _type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_field(field) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", _type(kind.value_type), nullable=True))
    if pa.types.is_map(kind):
        item = pa.field("value", _type(kind.item_type), nullable=True)
        return pa.map_(_type(kind.key_type), item)
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_int8(kind) or pa.types.is_int16(kind):
        return pa.int32()
    return kind
