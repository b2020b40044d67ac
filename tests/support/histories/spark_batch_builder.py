"""Batches as Spark commits them: Parquet files, the sink's log, the plan; written by hand."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.histories.spark_log_builder import uri, write_named_offsets, write_source_entry
from tests.support.sample_rows import REJECT, Row

# The name of the one source.
SOURCE = "orders"
# What Spark escapes in the name of a partition's directory (`ExternalCatalogUtils`).
ESCAPED = {*map(chr, range(1, 32)), *"\"#%'*/:=?\\{[]^\x7f"}


def plan(checkpoint: Path, number: int, inputs: Sequence[Path]) -> None:
    """Plan a batch that reads some files."""
    log = checkpoint / "sources" / SOURCE
    offset = max((int(p.name) for p in log.glob("*") if p.name.isdecimal()), default=-1)
    # Spark writes no entry for a batch without input, and repeats the offset before it.
    if inputs:
        offset += 1
        entry = write_source_entry(
            checkpoint, offset, {str(path): offset for path in inputs}, source=SOURCE
        )
        lines = entry.read_text().split("\n")
        stamped = [
            json.dumps({**json.loads(line), "timestamp": path.stat().st_mtime_ns // 1_000_000})
            for line, path in zip(lines[1:], inputs, strict=True)
        ]
        entry.write_text("\n".join([lines[0], *stamped]))
    write_named_offsets(checkpoint, number, **{SOURCE: offset if offset >= 0 else None})


def write_files(
    sink: Path,
    number: int,
    columns: pa.Schema,
    partitions: Iterable[str],
    good: Iterable[Row],
    rejected: Iterable[Row],
) -> list[Path]:
    """A batch's files: one a partition, the rejected rows in the null partition."""
    groups: dict[Path, list[Row]] = defaultdict(list)
    names = list(partitions)
    for one in good:
        values = {name: one[name] for name in names}
        groups[directory(sink, values or {"_rejected": "false"})].append(one)
    nothing = dict.fromkeys(names) if names else {"_rejected": "true"}
    for one in rejected:
        groups[directory(sink, nothing)].append({"_reject": one})
    schema = columns.append(pa.field("_reject", REJECT))
    written = []
    for place, (folder, members) in enumerate(groups.items()):
        path = folder / f"part-{place:05d}-{number:04d}.snappy.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        known = [{name: one.get(name) for name in schema.names} for one in members]
        with path.open("wb") as file:
            pq.write_table(pa.Table.from_pylist(known, schema), file)
        written.append(path)
    return written


def directory(sink: Path, values: Mapping[str, Any]) -> Path:
    """The directory of a partition, named as Spark names it."""
    path = sink
    for name, value in values.items():
        text = "__HIVE_DEFAULT_PARTITION__"
        if value is not None and value != "":
            text = "".join(f"%{ord(c):02X}" if c in ESCAPED else c for c in _text(value))
        path /= f"{name}={text}"
    return path


def write_to_sink_log(sink: Path, number: int, files: Iterable[Path]) -> None:
    """A batch's entry, with the sizes and times of its files."""
    entry = sink / "_spark_metadata" / str(number)
    entry.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(
            {
                "path": uri(path),
                "size": path.stat().st_size,
                "isDir": False,
                "modificationTime": path.stat().st_mtime_ns // 1_000_000,
                "blockReplication": 1,
                "blockSize": 33_554_432,
                "action": "add",
            }
        )
        for path in files
    ]
    entry.write_text("\n".join(["v1", *lines]))


def _text(value: Any) -> str:
    """A partition value as Spark prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)
