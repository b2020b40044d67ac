"""The checkpoint's `offsets/`: what Spark planned for each batch, before it ran.

Version 1 lists the sources' offsets by order, version 2 (`spark.sql.streaming.offsetLog.
formatVersion`) by number or name. A continuous query writes version 1 without watermark, time and
settings, as it has none.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.spark_logs.metadata_log import read_log_file

_EPOCH: Mapping[str, Any] = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}


@dataclass(frozen=True)
class OffsetEntry:
    """The plan that Spark writes before a batch runs.

    Args:
        watermark_ms: The watermark during the batch, in milliseconds since the epoch.
        timestamp_ms: The batch's own time.
        conf: The settings that must not change over the life of the checkpoint.
        sources: Source id ("0", "1" … or its name) -> its offset after the batch, as the source's
            own JSON; None for a source that has none yet.
    """

    batch: int
    watermark_ms: int
    timestamp_ms: int
    conf: Mapping[str, str]
    sources: Mapping[str, Any]


def is_of_files(offset: Any) -> bool:
    """Whether an offset is one of a file source, whose own log says which files it stands for."""
    return isinstance(offset, dict) and "logOffset" in offset


def plan_empty(folder: Path, last: int, watermark_ms: int, timestamp_ms: int) -> None:
    """Plan a batch that reads nothing, after which Spark runs it as any that it planned itself.

    At a start Spark runs no batch without new input, whatever is due; one that is in its log it
    runs first, with the watermark that stands there.

    Args:
        folder: The checkpoint's `offsets`.
        last: The last batch that was planned; it is committed.
        timestamp_ms: Its own time.

    Raises:
        FileExistsError: somebody planned that batch in the meantime.
    """
    version, metadata, *sources = (folder / str(last)).read_text(encoding="utf-8").split("\n")
    said = json.loads(metadata)
    said |= {"batchWatermarkMs": watermark_ms, "batchTimestampMs": timestamp_ms}
    text = "\n".join((version, json.dumps(said, separators=(",", ":")), *sources))
    planned = folder / str(last + 1)
    if isinstance(planned, ObjectPath):
        if not planned.create(text.encode()):
            raise FileExistsError(str(planned))
        return
    # Under a dot Spark takes it for nothing of its own until it is whole.
    draft = folder / f".{last + 1}.{os.getpid()}.tmp"
    draft.write_text(text, encoding="utf-8")
    try:
        os.link(draft, planned)
    finally:
        draft.unlink()


def read_offsets(file: Path, batch: int) -> OffsetEntry:
    entry = read_log_file(file, batch, (1, 2))
    metadata = _EPOCH if entry.version == 1 and entry.lines[:1] == ("",) else entry.json(0)
    sources = {}
    for number, line in enumerate(entry.lines[1:]):
        # Version 2 names its sources, `orders:{…}`; version 1 only has their order.
        name, colon, offset = line.partition(":") if entry.version > 1 else (str(number), ":", line)
        if not colon:
            raise entry.torn(f"line {number + 3} names no source")
        try:
            sources[name] = None if offset == "-" else json.loads(offset)
        except ValueError as error:
            raise entry.torn(f"line {number + 3} is not JSON") from error
    if not sources:
        raise entry.torn("it names no source")
    try:
        return OffsetEntry(
            batch,
            metadata["batchWatermarkMs"],
            metadata["batchTimestampMs"],
            metadata["conf"],
            sources,
        )
    except KeyError as error:
        raise entry.torn(f"line 2 lacks {error}") from error
