"""The logs of sinks, written again for files that have lost rows."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import path_of
from tidemill.generations.relocation import Rewrite
from tidemill.spark_logs.compactible_log import COMPACT
from tidemill.spark_logs.metadata_log import TornLogEntry, batch_files, read_log_file
from tidemill.spark_logs.partition_paths import disk_path
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY, sink_of


def rewritten_logs(layout: Layout, replaced: Mapping[Path, Path]) -> Iterator[Rewrite]:
    """The entries of sinks' logs that name such files, and of those that snapshots keep.

    Args:
        replaced: File -> the same without its erased rows, which is there.
    """
    logs = [
        *layout.table.glob(f"_*/{METADATA_DIRECTORY}"),
        *layout.snapshots.glob(f"*/{METADATA_DIRECTORY}"),
    ]
    for log in sorted(logs):
        for kind in ("", COMPACT):
            for batch, file in batch_files(log, kind).items():
                try:
                    text = _entry(file, batch, layout, replaced)
                except TornLogEntry:
                    continue
                if text is not None:
                    yield Rewrite(file, text)


def _entry(file: Path, batch: int, layout: Layout, replaced: Mapping[Path, Path]) -> str | None:
    entry = read_log_file(file, batch, (1,))
    lines, rewritten = ["v1"], False
    for number, line in enumerate(entry.lines):
        status = entry.json(number)
        named = path_of(disk_path(status["path"]))
        was = sink_of(named)
        new = replaced.get(layout.table / was.name / named.relative_to(was))
        if new is not None:
            rewritten = True
            folder = status["path"].rpartition("/")[0]
            now = new.stat()
            update = {
                "path": f"{folder}/{new.name}",
                "size": now.st_size,
                "modificationTime": now.st_mtime_ns // 1_000_000,
            }
            line = json.dumps(status | update, separators=(",", ":"), ensure_ascii=False)
        lines.append(line)
    return "\n".join(lines) if rewritten else None
