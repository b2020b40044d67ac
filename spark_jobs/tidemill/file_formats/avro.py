"""An Avro file's schema, its number of rows, and one of its columns of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

MAGIC = b"Obj\x01"
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


class NotAvro(ValueError):
    """A file is not a whole Avro file."""


def avro_schema(path: Path) -> Any:
    """The schema that a file was written with, as JSON.

    Spark reads schemas that `fastavro` refuses, such as one with a dash in a name; so this one is
    parsed as JSON only.

    Raises:
        NotAvro: the file is empty, cut off or something else.
    """
    with _opened(path) as content:
        return _schema(content)


def avro_rows(path: Path) -> int:
    """The number of rows of a file, which are not decoded for it.

    Raises:
        NotAvro: the file is empty, cut off or something else.
    """
    import fastavro

    with _opened(path) as content:
        _schema(content)
        content.seek(0)
        return sum(block.num_records for block in fastavro.block_reader(content))


def avro_texts(path: Path, column: str) -> Iterator[str | None]:
    """A column of text from rows whose other columns are all null, as in rejected ones.

    Raises:
        NotAvro: the file is cut off, or another column holds a value.
    """
    import fastavro

    with _opened(path) as content:
        rows: Iterator[Any] = fastavro.reader(content)
        for row in rows:
            filled = [name for name, value in row.items() if value is not None]
            if filled not in ([], [column]):
                msg = f"column {filled[0]} holds a value"
                raise NotAvro(msg)
            yield row[column]


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
            raise NotAvro(msg) from error


def _schema(content: IO[bytes]) -> Any:
    # It takes 0.2 s to import, and few pipelines read Avro.
    import fastavro

    header: Any = fastavro.schemaless_reader(content, _HEADER, None)
    if header["magic"] != MAGIC:
        msg = "it does not begin as one"
        raise NotAvro(msg)
    return json.loads(header["meta"]["avro.schema"])
