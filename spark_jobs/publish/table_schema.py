"""The published table's schema, compared with what the files really hold.

A Delta add whose files carry a new column hides it without a word, so the footers are compared with
the table before each commit: equal, or new nullable columns, or refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from deltalake import Field, Schema
from deltalake.schema import PrimitiveType

from spark_jobs.contract.errors import Refused
from spark_jobs.ledger.footers import Footer


class SchemaChanged(Refused):
    """Files and table disagree; carries `column`, `table_type` and `file_type`."""


def born_schema(table_schema: dict[str, Any]) -> Schema:
    """The schema of a new table from Spark's JSON schema of the transform's result."""
    fields = [{**field, "nullable": True, "metadata": {}} for field in table_schema["fields"]]
    return Schema.from_json(json.dumps({"type": "struct", "fields": fields}))


def file_fields(footer: Footer, engine_columns: Collection[str]) -> dict[str, Field]:
    """The columns that a file holds, as Delta fields, without the engine's own."""
    names = [name for name in footer.schema.names if name not in engine_columns]
    schema = Schema.from_arrow(footer.schema.remove_metadata())
    return {field.name: field for field in schema.fields if field.name in names}


def new_columns(
    table: Schema,
    partitions: Collection[str],
    footers: Iterable[Footer],
    engine_columns: Collection[str],
    optional: Collection[str] = (),
) -> list[Field]:
    """The nullable columns that must be added to the table before the files are.

    Args:
        table: The table's schema.
        partitions: Its partition columns, which the files do not hold.
        footers: Of the files.
        engine_columns: Columns in the files that are not the table's business.
        optional: Columns that some of the files may lack: the files were written by several
            versions of the code, of which one had the column and another had not.

    Raises:
        SchemaChanged: a column has another type, or one of the table's is missing.
    """
    known = {field.name: field for field in table.fields}
    added: dict[str, Field] = {}
    for footer in footers:
        present = file_fields(footer, engine_columns)
        for name, field in present.items():
            there = known.get(name) or added.get(name)
            if there is None:
                added[name] = Field(name, field.type, nullable=True)
            elif _text(there.type) != _text(field.type):
                raise _changed(name, _text(there.type), _text(field.type))
        for name in known:
            if name not in present and name not in partitions and name not in optional:
                raise _changed(name, _text(known[name].type), None)
    return list(added.values())


def _text(kind: Any) -> str:
    """A type as JSON without nullability: Spark writes everything as nullable."""
    if isinstance(kind, PrimitiveType):
        return str(json.loads(kind.to_json()))
    return str(_without_nullability(json.loads(kind.to_json())))


def _without_nullability(kind: Any) -> Any:
    if isinstance(kind, dict):
        dropped = ("nullable", "containsNull", "valueContainsNull", "metadata")
        return {k: _without_nullability(v) for k, v in sorted(kind.items()) if k not in dropped}
    if isinstance(kind, list):
        return [_without_nullability(item) for item in kind]
    return kind


def _changed(column: str, table_type: str, file_type: str | None) -> SchemaChanged:
    now = f"is {file_type} in the new files" if file_type else "is missing in the new files"
    return SchemaChanged(
        f"Column '{column}' is {table_type} in the published table and {now}.",
        remedy="Give the new meaning a new column name, or publish under a new pipeline name.",
        column=column,
        table_type=table_type,
        file_type=file_type,
    )
