"""Replaces `schema: {file: …}` in a spec by the columns in that file, as Spark DDL."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidemill.contract.errors import SpecError
from tidemill.contract.syntax.ddl import split_columns
from tidemill.spec.schema_files.avro import avro_columns
from tidemill.spec.schema_files.column import FileColumn, UnknownType
from tidemill.spec.schema_files.ddl_text import columns_text, on_one_line
from tidemill.spec.schema_files.json_types import json_schema_columns, spark_columns
from tidemill.spec.sources.base import checked_columns

SUFFIXES = (".ddl", ".sql", ".avsc", ".json")
Refuse = Callable[[tuple[Any, ...], str, str], SpecError]


class SchemaFileWrong(SpecError):
    """A schema file cannot be read; carries its `path` and the `line` of what is wrong."""


def with_schema_files(document: Mapping[str, Any], home: Path, refuse: Refuse) -> dict[str, Any]:
    """A spec whose schemas are texts.

    Args:
        document: The spec's values.
        home: The project, below which the files are.
        refuse: Makes the error about a place of the spec: what is wrong, and the remedy.

    Raises:
        SpecError: a file is not there or leads out of the project.
        SchemaFileWrong: it is not a schema.
    """
    filled = dict(document)
    for part in ("sources", "statics"):
        if isinstance(filled.get(part), dict):
            filled[part] = {
                name: _filled(one, (part, name), home, refuse) for name, one in filled[part].items()
            }
    return filled


def _filled(given: Any, at: tuple[Any, ...], home: Path, refuse: Refuse) -> Any:
    if not isinstance(given, dict):
        return given
    filled = dict(given)
    if isinstance(filled.get("value"), dict):
        filled["value"] = _filled(filled["value"], (*at, "value"), home, refuse)
    schema = filled.get("schema")
    if isinstance(schema, dict):
        at = (*at, "schema")
        if {*schema} != {"file"} or not isinstance(schema["file"], str):
            raise refuse(at, "is neither a text nor {file: …}", "Write: schema: {file: PATH}")
        # Spark itself reads the values of records by the text of an Avro schema.
        whole = filled.get("format") == "avro" and at[-2] == "value"
        path = _place(schema["file"], home, (*at, "file"), refuse)
        filled["schema"] = path.read_text("utf-8") if whole else ddl_of(path)
    return filled


def _place(named: str, home: Path, at: tuple[Any, ...], refuse: Refuse) -> Path:
    path = (home / named).resolve()
    if not path.is_relative_to(home.resolve()):
        raise refuse(at, f"leads out of the project {home}", "Keep the file in the project.")
    if path.suffix not in SUFFIXES:
        remedy = f"Name it after its kind: {', '.join(SUFFIXES)}."
        raise refuse(at, f"is '{named}', whose ending says no kind of schema file", remedy)
    if not path.is_file():
        raise refuse(at, f"is '{named}', and there is no file {path}", "Correct the path.")
    return path


def ddl_of(path: Path) -> str:
    """The columns in a schema file, as Spark DDL with their descriptions.

    Raises:
        SchemaFileWrong: it is not a schema.
    """
    text = path.read_text("utf-8")
    if path.suffix in (".ddl", ".sql"):
        return ", ".join(_columns(path, text))
    try:
        document = json.loads(text)
        return ", ".join(column.ddl for column in _of_json(document))
    except json.JSONDecodeError as error:
        raise _wrong(path, error.lineno, f"is not JSON: {error.msg}") from error
    except UnknownType as error:
        raise _wrong(path, _line(text, error.name), f"'{error.name}' {error.what}") from error
    except (KeyError, TypeError, AttributeError) as error:
        what = "is neither an Avro record, nor a JSON Schema with properties, nor Spark's JSON"
        raise _wrong(path, None, what) from error


def _of_json(document: Any) -> Iterator[FileColumn]:
    if document["type"] == "record":
        return avro_columns(document)
    if document["type"] == "struct":
        return spark_columns(document)
    return json_schema_columns(document)


def _columns(path: Path, text: str) -> Iterator[str]:
    """The columns of a DDL text, each checked where it stands."""
    try:
        columns = columns_text(text)
        parts = split_columns(columns)
    except ValueError as error:
        raise _wrong(path, None, str(error)) from error
    end = 0
    for part in parts:
        begin = end + len(part) - len(part.lstrip())
        end += len(part) + 1
        column = on_one_line(part)
        try:
            yield checked_columns(column)
        except ValueError as error:
            raise _wrong(path, columns[:begin].count("\n") + 1, str(error)) from error


def _line(text: str, name: str) -> int | None:
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if json.dumps(name) in line), None)


def _wrong(path: Path, line: int | None, what: str) -> SchemaFileWrong:
    place = f"{path}:{line}" if line else str(path)
    return SchemaFileWrong(
        f"{place}: {what}.", remedy="Correct the schema file.", path=path, line=line, field="schema"
    )
