"""The checkpoint's `commits/`: which batches are done.

Version 2 adds ids of state files, version 3 the sink's name; neither changes what is read here.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from tidemill.spark_logs.metadata_log import read_log_file


@dataclass(frozen=True)
class CommitEntry:
    """The entry that Spark wrote after a batch was done.

    Args:
        next_watermark_ms: In force from the next batch on.
    """

    batch: int
    next_watermark_ms: int


def read_commit(file: Path, batch: int) -> CommitEntry:
    entry = read_log_file(file, batch, (1, 2, 3))
    try:
        return CommitEntry(batch, entry.json(0)["nextBatchWatermarkMs"])
    except KeyError as error:
        raise entry.torn(f"line 2 lacks {error}") from error


def put_watermark(folder: Path, batch: int, watermark_ms: int) -> None:
    """Let the batch after a committed one have another watermark, where no query runs.

    At a start Spark takes the watermark from the last commit. Only ever of a scratch checkpoint.

    Args:
        folder: The checkpoint's `commits`.
        batch: The last that was committed.
        watermark_ms: In milliseconds since the epoch.
    """
    file = folder / str(batch)
    version, first, *rest = file.read_text(encoding="utf-8").split("\n")
    said = json.loads(first) | {"nextBatchWatermarkMs": watermark_ms}
    file.with_name(f".{batch}.crc").unlink(missing_ok=True)
    text = "\n".join((version, json.dumps(said, separators=(",", ":")), *rest))
    file.write_text(text, encoding="utf-8")
