"""A file source's log without the files that batches of the past have read.

Spark reads the whole log at each start, to know which files it must not read again. In a cut log
are the files of the newest offset, which Spark asks for once more, and under the offset `KEPT`
those that are still where Spark would list them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidemill.spark_logs.compactible_log import (
    COMPACT,
    CompactibleLog,
    GapInSourceLog,
    compactible_log,
)
from tidemill.spark_logs.metadata_log import read_log_file
from tidemill.spark_logs.partition_paths import disk_path, uri_path
from tidemill.spark_logs.source_log import KEPT
from tidemill.storage.sync import put_whole

VERSION_LINE = "v1"


def cut_source_log(folder: Path, to: Path, last: int) -> None:
    """Write a log that goes on after an offset, with the same entries, most of them empty.

    Spark tells from their names when the next one is to be compacted.

    Args:
        folder: The log, which is only read.
        to: The folder of the new log.
        last: The newest offset that a batch has read.

    Raises:
        GapInSourceLog: the entry of an offset is missing.
        MissingCompactLog: a compact one is missing.
        TornLogEntry: one is empty or cut off.
    """
    log = compactible_log(folder)
    log.tail(GapInSourceLog)
    to.mkdir(parents=True, exist_ok=True)
    compact = [offset for offset in log.compact if offset <= last]
    names = [f"{offset}{COMPACT}" for offset in compact]
    names += [str(offset) for offset in range(max(compact, default=-1) + 1, last + 1)]
    for name in names[:-1]:
        (to / name).write_text(VERSION_LINE, encoding="utf-8")
    if names:
        (to / names[-1]).write_text(_entry(_needed(log, last)), encoding="utf-8")


def files_known(folder: Path) -> set[Path]:
    """The files that a log keeps Spark from reading again."""
    return {Path(disk_path(line["path"])) for line in _lines(compactible_log(folder))}


def keep_from_reading(folder: Path, files: Mapping[Path, int]) -> None:
    """Add files that no batch is to read to a log; no query may be running on it.

    Args:
        files: File -> its time of modification, in milliseconds since the epoch.
    """
    log = compactible_log(folder)
    newest = log.latest
    if newest is None or not files:
        return
    file = log.plain[newest] if newest in log.plain else log.compact[newest]
    entry = read_log_file(file, newest, (1,))
    lines = [entry.json(number) for number in range(len(entry.lines))]
    # Spark takes the number of the newest offset from the last line.
    scheme = lines[-1]["path"].partition("/")[0] if lines else "file:"
    authority = "//" if lines and lines[-1]["path"].startswith(f"{scheme}///") else ""
    kept = [
        {"path": f"{scheme}{authority}{uri_path(path)}", "timestamp": modified_ms, "batchId": KEPT}
        for path, modified_ms in files.items()
    ]
    put_whole(file, _entry(_of_newest([*kept, *lines], newest)))


def _needed(log: CompactibleLog, last: int) -> list[dict[str, Any]]:
    """The newest file, which `maxFileAge` is reckoned from, and those of the last offset."""
    lines = [line for line in _lines(log) if line["batchId"] <= last]
    own = [line for line in lines if line["batchId"] == last]
    newest = max(lines, key=lambda line: (line["timestamp"], line["batchId"]), default=None)
    before = [] if newest is None or newest in own else [{**newest, "batchId": KEPT}]
    return _of_newest([*before, *own], last)


def _of_newest(lines: list[dict[str, Any]], newest: int) -> list[dict[str, Any]]:
    """Lines of which the last is of the newest offset: Spark cannot start on one of no batch."""
    if lines and lines[-1]["batchId"] == KEPT:
        lines[-1] = {**lines[-1], "batchId": newest}
    return lines


def _lines(log: CompactibleLog) -> Iterator[dict[str, Any]]:
    """All files in a log, as it has them."""
    upto = -1 if log.compacted_upto is None else log.compacted_upto
    files = [] if upto < 0 else [(upto, log.compact[upto])]
    files += [(offset, log.plain[offset]) for offset in sorted(log.plain) if offset > upto]
    for offset, file in files:
        entry = read_log_file(file, offset, (1,))
        yield from (entry.json(number) for number in range(len(entry.lines)))


def _entry(lines: Iterable[Mapping[str, Any]]) -> str:
    texts = (json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines)
    return "\n".join([VERSION_LINE, *texts])
