"""Checks the published columns against the files and the table.

A Delta add whose files carry a new column hides it without a word, so footers are compared with
the ledger's schema, and that with the table, before each commit: equal, or new nullable columns, or
refused.
"""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from deltalake import Field, Schema
from deltalake.schema import PrimitiveType

from tidemill.contract.errors import Refused
from tidemill.file_formats.parquet import Footer
from tidemill.file_formats.reader import REJECT

ENGINE_COLUMNS = frozenset({REJECT})


class SchemaChanged(Refused):
    """Files and table disagree; carries `column`, `table_type` and `file_type`."""


def born_schema(table_schema: dict[str, Any]) -> Schema:
    """The schema of a new table from Spark's JSON schema of the transform's result."""
    fields = [{**field, "nullable": True} for field in table_schema["fields"]]
    # Spark's notes of a column, nested ones too: its collation, its watermark.
    return Schema.from_json(json.dumps(_without_metadata({"type": "struct", "fields": fields})))


def file_fields(footer: Footer) -> dict[str, Field]:
    """The columns that a file holds, as Delta fields, without the engine's own."""
    names = [name for name in footer.schema.names if name not in ENGINE_COLUMNS]
    schema = Schema.from_arrow(footer.schema.remove_metadata())
    return {field.name: field for field in schema.fields if field.name in names}


def check_file(path: Path, footer: Footer, schema: Schema, partitions: Collection[str]) -> None:
    """Prove that a file holds exactly the columns of the code that wrote it.

    Args:
        footer: Its footer.
        schema: By the ledger, with partition columns.
        partitions: The columns that files do not hold.

    Raises:
        SchemaChanged: it has one more or one less, or one of another type.
    """
    said = {field.name: field for field in schema.fields if field.name not in partitions}
    found = file_fields(footer)
    for name in {**said, **found}:
        types = [_text(fields[name].type) if name in fields else None for fields in (said, found)]
        if types[0] != types[1]:
            raise SchemaChanged(
                f"Column '{name}' of {path} is {types[1] or 'missing'}, and the ledger says "
                f"{types[0] or 'that there is none'}.",
                remedy="Restore the file, or ledger/, from a backup; nothing was published.",
                column=name,
                table_type=types[0],
                file_type=types[1],
            )


def together(schemas: Sequence[Schema]) -> Schema:
    """The columns of several versions of the code, those of the first in front.

    Raises:
        SchemaChanged: one column has two types.
    """
    first, *others = schemas
    for other in others:
        first = Schema([*first.fields, *new_columns(first, other, missing_allowed=True)])
    return first


def new_columns(table: Schema, offered: Schema, *, missing_allowed: bool = False) -> list[Field]:
    """The nullable columns that must be added to a table before rows are.

    Args:
        table: The table's schema.
        missing_allowed: Whether columns of the table may be missing in the rows.

    Raises:
        SchemaChanged: a column has another type, or one of the table's is missing.
    """
    known = {field.name: field for field in table.fields}
    present = {field.name: field for field in offered.fields}
    added = []
    for name, field in present.items():
        if name not in known:
            added.append(Field(name, field.type, nullable=True, metadata=field.metadata))
        elif _text(known[name].type) != _text(field.type):
            raise changed(name, _text(known[name].type), _text(field.type))
    for name in known:
        if name not in present and not missing_allowed:
            raise changed(name, _text(known[name].type), None)
    return added


def changed(column: str, table_type: str, file_type: str | None) -> SchemaChanged:
    """The error of a column that a published table has and new rows have otherwise, or not."""
    now = f"is {file_type} in the new files" if file_type else "is missing in the new files"
    return SchemaChanged(
        f"Column '{column}' is {table_type} in the published table and {now}.",
        remedy="Give the new meaning a new column name, or publish under a new pipeline name.",
        column=column,
        table_type=table_type,
        file_type=file_type,
    )


def _text(kind: Any) -> str:
    """A type as JSON without nullability: Spark writes everything as nullable."""
    if isinstance(kind, PrimitiveType):
        return str(json.loads(kind.to_json()))
    return str(_without_nullability(json.loads(kind.to_json())))


def _without_metadata(kind: Any) -> Any:
    if isinstance(kind, dict):
        plain = {name: _without_metadata(value) for name, value in kind.items()}
        return {**plain, "metadata": {}} if "metadata" in kind else plain
    return [_without_metadata(item) for item in kind] if isinstance(kind, list) else kind


def _without_nullability(kind: Any) -> Any:
    if isinstance(kind, dict):
        dropped = ("nullable", "containsNull", "valueContainsNull", "metadata")
        return {k: _without_nullability(v) for k, v in sorted(kind.items()) if k not in dropped}
    if isinstance(kind, list):
        return [_without_nullability(item) for item in kind]
    return kind
