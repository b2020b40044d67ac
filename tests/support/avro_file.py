"""A writer of small Avro files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro

# The codecs of Spark's writer.
CODECS = ("null", "deflate", "bzip2", "xz", "snappy", "zstandard")


def write_avro(
    path: Path,
    fields: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    block_bytes: int = 16_000,
    codec: str = "null",
) -> None:
    """Write rows.

    Args:
        path: The file.
        fields: Name -> Avro type.
        rows: Field -> value.
        block_bytes: A block ends with the row that makes it longer than this.
        codec: One of `CODECS`.
    """
    columns = [{"name": name, "type": kind} for name, kind in fields.items()]
    schema = {"type": "record", "name": "row", "fields": columns}
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows, codec=codec, sync_interval=block_bytes)
