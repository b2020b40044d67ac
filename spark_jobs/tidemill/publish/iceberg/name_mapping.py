"""The names of an Iceberg table's columns in our files: Spark's files have no field ids.

PyIceberg refuses a file with a column that the mapping does not name, so the engine's own column
of rejected rows is named too, under ids that no table has: no reader shows it.
"""

from collections.abc import Iterator
from itertools import count

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.table.name_mapping import (
    MappedField,
    NameMapping,
    create_mapping_from_schema,
    parse_mapping_from_json,
)

from tidemill.file_formats.reader import REJECT, REJECT_TYPE

PROPERTY = "schema.name-mapping.default"
# Far above those of a table's columns, below those that Iceberg reserves.
FIRST_HIDDEN_ID = 2_000_000_000


def keep_mapping(transaction: Transaction) -> None:
    """Name every column of a table, and those that it had, which older snapshots show."""
    metadata = transaction.table_metadata
    before = metadata.properties.get(PROPERTY)
    mapping = _mapping(metadata.schema(), before).model_dump_json()
    if before != mapping:
        transaction.set_properties({PROPERTY: mapping})


def _mapping(schema: Schema, before: str | None) -> NameMapping:
    now = [
        *create_mapping_from_schema(schema),
        _hidden(REJECT, REJECT_TYPE, count(FIRST_HIDDEN_ID)),
    ]
    names = {name for field in now for name in field.names}
    old = parse_mapping_from_json(before) if before else NameMapping([])
    return NameMapping([*now, *(field for field in old if names.isdisjoint(field.names))])


def _hidden(name: str, kind: pa.DataType, ids: Iterator[int]) -> MappedField:
    number = next(ids)
    fields = [_hidden(part, inner, ids) for part, inner in _parts(kind)]
    return MappedField.model_validate({"field-id": number, "names": [name], "fields": fields})


def _parts(kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if pa.types.is_struct(kind):
        yield from ((field.name, field.type) for field in kind)
    elif pa.types.is_map(kind):
        yield from (("key", kind.key_type), ("value", kind.item_type))
