"""Spark's logs as Spark 4.2 writes them, written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidemill.contract.objects.object_path import ObjectPath


def uri(path: Path) -> str:
    if isinstance(path, ObjectPath):
        return quote(str(path), safe=":/=+")
    return f"file://{quote(str(path), safe='/=+')}"


def write_sink_entry(
    sink: Path, batch: int, names: Iterable[str], *, compact: bool = False, **changes: Any
) -> Path:
    """An entry of `_spark_metadata`; `names` are files below the sink."""
    lines = [
        json.dumps(
            {
                "path": uri(sink / name),
                "size": 480,
                "isDir": False,
                "modificationTime": 1_795_252_251_283,
                "blockReplication": 1,
                "blockSize": 33_554_432,
                "action": "add",
                **changes,
            },
            separators=(",", ":"),
        )
        for name in names
    ]
    return _write(sink / "_spark_metadata" / _name(batch, compact), "v1", lines)


def write_offsets(
    checkpoint: Path, batch: int, *offsets: int | None, watermark_ms: int = 0
) -> Path:
    """An entry of `offsets/` for file sources, in version 1; None for a source without offset."""
    lines = ["-" if offset is None else f'{{"logOffset":{offset}}}' for offset in offsets]
    metadata = {"batchWatermarkMs": watermark_ms, "batchTimestampMs": 1, "conf": {"k": "v"}}
    return _write(checkpoint / "offsets" / str(batch), "v1", [json.dumps(metadata), *lines])


def write_named_offsets(checkpoint: Path, batch: int, **offsets: int | None) -> Path:
    """An entry of `offsets/` for file sources that go by name, in version 2."""
    lines = [
        f"{name}:-" if offset is None else f'{name}:{{"logOffset":{offset}}}'
        for name, offset in offsets.items()
    ]
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {"k": "v"}}
    return _write(checkpoint / "offsets" / str(batch), "v2", [json.dumps(metadata), *lines])


def write_json_offsets(checkpoint: Path, batch: int, **offsets: Mapping[str, Any]) -> Path:
    """An entry of `offsets/` for sources by name whose offsets are JSON."""
    lines = [f"{name}:{json.dumps(offset)}" for name, offset in offsets.items()]
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {"k": "v"}}
    return _write(checkpoint / "offsets" / str(batch), "v2", [json.dumps(metadata), *lines])


def write_commit(checkpoint: Path, batch: int, next_watermark_ms: int = 0) -> Path:
    lines = [json.dumps({"nextBatchWatermarkMs": next_watermark_ms})]
    return _write(checkpoint / "commits" / str(batch), "v1", lines)


def write_metadata(checkpoint: Path, query_id: str = "86022cb6") -> Path:
    return _write(checkpoint / "metadata", json.dumps({"id": query_id}), [])


def write_source_entry(
    checkpoint: Path,
    offset: int,
    files: Mapping[str, int],
    *,
    compact: bool = False,
    source: str = "0",
) -> Path:
    """An entry of a file source's log; `files` are paths with the offset each was listed at."""
    lines = [
        json.dumps({"path": uri(Path(file)), "timestamp": 1_700_000_000_000, "batchId": at})
        for file, at in files.items()
    ]
    return _write(checkpoint / "sources" / source / _name(offset, compact), "v1", lines)


def _name(batch: int, compact: bool) -> str:
    return f"{batch}.compact" if compact else str(batch)


def _write(file: Path, first: str, lines: list[str]) -> Path:
    """Without a newline at the end, and with a checksum beside it, as Spark does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([first, *lines]), "utf-8")
    file.with_name(f".{file.name}.crc").write_bytes(b"crc\0")
    return file
