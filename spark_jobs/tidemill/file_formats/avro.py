"""Avro files: their schema, their number of rows, and their rejected rows."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tidemill.contract.syntax.ddl import DdlType
from tidemill.file_formats.reader import NO_ZONE, REJECT, Columns, FormatReader, NotWhole
from tidemill.file_formats.schema_fit import spelled
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.avro import AVRO
from tidemill.spec.sources.file import FileSource

MAGIC = b"Obj\x01"
_UNITS = ("millis", "micros", "nanos")
_INSTANTS = frozenset(f"timestamp-{unit}" for unit in _UNITS)
_LOCAL = frozenset(f"local-timestamp-{unit}" for unit in _UNITS)
# Spark's type -> Avro's logical types that mean something else, which Spark takes without a word: a
# place's time for an instant, a date for its number.
_OTHER_TIMES = {
    "timestamp": _LOCAL,
    "timestamp_ntz": _INSTANTS,
    "int": frozenset({"date"}),
    "bigint": frozenset({"date"}) | _INSTANTS | _LOCAL,
}
_TIMES = frozenset({"timestamp", "timestamp_ltz", "timestamp_ntz"})
# As the specification of Avro's object container files writes it; `fastavro` has no public one.
_HEADER = {
    "type": "record",
    "name": "org.apache.avro.file.Header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": len(MAGIC)}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
    ],
}


class Avro(FormatReader):
    """Avro, whose rejected rows are JSON in a column of text."""

    rules = AVRO

    def misfits(self, path: Path, source: FileSource, wanted: Columns) -> Iterator[str]:
        if source.reader_option("avroSchema") is not None:
            # Spark then resolves the file's schema against that one.
            return
        fields = {field["name"].lower(): field["type"] for field in _fields(avro_schema(path))}
        for name, kind in wanted.items():
            if name.lower() not in fields:
                yield f"column {name} is missing"
            else:
                yield from _misfits(name, fields[name.lower()], kind)

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        return _not_named(avro_schema(path), source.types)

    def records(self, path: Path, source: FileSource) -> int | None:
        return _records(path)

    def _rows(self, path: Path, written: WriteFormat) -> int:
        return _records(path)

    def _rejects(self, path: Path, written: WriteFormat) -> Iterator[Any]:
        import fastavro

        with _opened(path) as content:
            rows: Iterator[Any] = fastavro.reader(content)
            for row in rows:
                filled = [name for name, value in row.items() if value is not None]
                if filled not in ([], [REJECT]):
                    msg = f"column {filled[0]} of a rejected row holds a value"
                    raise NotWhole(msg)
                yield None if row[REJECT] is None else json.loads(row[REJECT])


def avro_schema(path: Path) -> Any:
    """The schema that a file was written with, as JSON.

    Spark reads schemas that `fastavro` refuses, such as one with a dash in a name; so this one is
    parsed as JSON only.

    Raises:
        NotWhole: the file is empty, cut off or something else.
    """
    with _opened(path) as content:
        return _schema(content)


def avro_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file, with Python's values of their types.

    Raises:
        NotWhole: the file is empty, cut off or something else.
    """
    import fastavro

    with _opened(path) as content:
        rows: Iterator[Any] = fastavro.reader(content)
        yield from rows


def _records(path: Path) -> int:
    import fastavro

    with _opened(path) as content:
        _schema(content)
        content.seek(0)
        return sum(block.num_records for block in fastavro.block_reader(content))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as content:
        try:
            yield content
        except OSError:
            raise
        except Exception as error:
            # A damaged file is an error of whatever part or codec of fastavro comes upon it.
            msg = f"{path}: {str(error) or type(error).__name__}"
            raise NotWhole(msg) from error


def _schema(content: IO[bytes]) -> Any:
    # It takes 0.2 s to import, and few pipelines read Avro.
    import fastavro

    header: Any = fastavro.schemaless_reader(content, _HEADER, None)
    if header["magic"] != MAGIC:
        msg = "it does not begin as one"
        raise NotWhole(msg)
    return json.loads(header["meta"]["avro.schema"])


def _fields(schema: Any) -> list[Any]:
    return schema.get("fields", []) if isinstance(schema, Mapping) else []


def _misfits(name: str, kind: Any, wanted: DdlType) -> Iterator[str]:
    """What is wrong with a column, and with what is in it, such as `column at is date, not int`."""
    members = [one for one in (kind if isinstance(kind, list) else [kind]) if one != "null"]
    found = [one if isinstance(one, Mapping) else {"type": one} for one in members]
    if (other := _misread(found, wanted)) is not None:
        yield f"column {name} is {other}, not {spelled(wanted)}"
    for one in found:
        fields = {field["name"].lower(): field["type"] for field in _fields(one)}
        for inner, inside in wanted.fields.items():
            if inner.lower() in fields:
                yield from _misfits(f"{name}.{inner}", fields[inner.lower()], inside)
        items = one.get("items", one.get("values"))
        if items is not None and wanted.items is not None:
            yield from _misfits(f"{name}[]", items, wanted.items)


def _misread(members: Iterable[Mapping[str, Any]], wanted: DdlType) -> str | None:
    """What a field is where Spark takes it for something else, or drops digits, without a word."""
    for found in members:
        logical = str(found.get("logicalType"))
        if found["type"] == "long" and wanted.name in _TIMES and logical not in _INSTANTS | _LOCAL:
            return "long without a unit, which Spark takes for milliseconds"
        if logical in _OTHER_TIMES.get(wanted.name, ()):
            return _named(logical)
        if wanted.name == "date" and logical != "date":
            return str(found["type"])
        if wanted.name == "decimal" and logical == "decimal":
            precision, scale = found["precision"], found.get("scale", 0)
            if scale > wanted.scale or precision - scale > wanted.precision - wanted.scale:
                return f"decimal({precision},{scale})"
    return None


def _named(logical: str) -> str:
    if logical == "date":
        return logical
    return "timestamp" if logical in _INSTANTS else NO_ZONE


def _not_named(schema: Any, named: Columns, within: str = "") -> Iterator[str]:
    kinds = {name.lower(): kind for name, kind in named.items()}
    for field in _fields(schema):
        kind = kinds.get(field["name"].lower())
        if kind is None:
            yield f"{within}{field['name']}"
        elif kind.name == "struct":
            one_of = field["type"] if isinstance(field["type"], list) else [field["type"]]
            for record in one_of:
                yield from _not_named(record, kind.fields, f"{within}{field['name']}.")
