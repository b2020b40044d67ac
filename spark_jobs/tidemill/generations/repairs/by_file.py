"""Repairs the compacted logs of files: those of file sources and of the sink."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tidemill.generations.repairs.repair import EntryUnknown, Repair, unknown
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.compactible_log import COMPACT, CompactibleLog, compactible_log
from tidemill.spark_logs.metadata_log import TornLogEntry, read_log_file
from tidemill.spark_logs.partition_paths import uri
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY, read_sink_entry
from tidemill.spark_logs.source_log import read_source_entry

Lines = list[str]
# The block size of Hadoop's local file system.
BLOCK_SIZE = 33_554_432


def file_repairs(ledger: Ledger, note: GenerationNote) -> Iterator[Repair]:
    """The torn or missing entries that committed batches have written or read.

    Raises:
        EntryUnknown: something of it cannot be rewritten.
    """
    known = ledger.latest()
    if known < 0:
        return
    (last,) = ledger.batches(known, known)
    for source, offset in sorted(last.offsets.items()):
        if isinstance(offset, dict) and "logOffset" in offset:
            folder = ledger.checkpoint / "sources" / source
            lines = partial(_inputs_of, ledger, source)
            upto = int(offset["logOffset"])
            log = _FileLog(folder, upto, read_source_entry, lines, ledger)
            yield from log.repairs()
    if note.writes == "files":
        folder = ledger.sink / METADATA_DIRECTORY
        read = partial(read_sink_entry, sink=ledger.sink)
        yield from _FileLog(folder, known, read, partial(_outputs_of, ledger), ledger).repairs()


@dataclass(frozen=True)
class _FileLog:
    """A log that Spark compacts.

    Args:
        last: The last entry that a committed batch stands on.
        read: Raises `TornLogEntry` of a torn entry.
        known: The lines of an entry of its own, as the ledger has them.
        ledger: The generation's.
    """

    folder: Path
    last: int
    read: Callable[[Path, int], object]
    known: Callable[[int, Path], Lines]
    ledger: Ledger

    def repairs(self) -> Iterator[Repair]:
        log = compactible_log(self.folder)
        compacted = self._compacted_upto(log)
        if compacted >= 0 and (why := self._problem(log.compact, compacted)):
            file = self.folder / f"{compacted}{COMPACT}"
            yield Repair(file, why, _text(self._upto(compacted, file)))
        for number in range(compacted + 1, self.last + 1):
            if why := self._problem(log.plain, number):
                file = self.folder / str(number)
                yield Repair(file, why, _text(self.known(number, file)))

    def _compacted_upto(self, log: CompactibleLog) -> int:
        """The last entry that must be a compact file; -1 where none must."""
        start = max((n for n in log.compact if n <= self.last), default=-1)
        for number in range(self.last, start, -1):
            if number not in log.plain and log.compacts(number) is not False:
                if log.compacts(number) is None:
                    file = self.folder / str(number)
                    why = "how often Spark compacts this log cannot be told"
                    raise _unknown(self.ledger, file, why)
                return number
        return start

    def _problem(self, files: Mapping[int, Path], number: int) -> str | None:
        return self._torn(files[number], number) if number in files else "it is missing"

    def _upto(self, number: int, file: Path) -> Lines:
        """The lines of all entries up to one: Spark's own where they are there still."""
        log = compactible_log(self.folder)
        earlier = (n for n in sorted(log.compact, reverse=True) if n < number)
        start = next((n for n in earlier if not self._torn(log.compact[n], n)), -1)
        lines = list(_lines(log.compact[start], start)) if start >= 0 else []
        for one in range(start + 1, number + 1):
            plain = log.plain.get(one)
            if plain is not None and not self._torn(plain, one):
                lines += _lines(plain, one)
            else:
                lines += self.known(one, file)
        return lines

    def _torn(self, file: Path, number: int) -> str | None:
        try:
            # Some are read when they are looked at.
            list(self.read(file, number) or ())  # type: ignore[call-overload]
        except TornLogEntry as error:
            return str(error.reason)
        return None


def _outputs_of(ledger: Ledger, number: int, file: Path) -> Lines:
    """The files that a batch wrote, as the sink's log records them."""
    (batch,) = ledger.batches(number, number)
    if batch.generation != ledger.generation:
        # A fork's first batches are another generation's, whose sink has their files.
        return []
    lines = []
    for output in batch.outputs:
        path = ledger.sink / output.path
        try:
            found = path.stat()
        except FileNotFoundError:
            raise _unknown(
                ledger, file, f"{path} is gone, and with it the time it was written"
            ) from None
        if found.st_size != output.size:
            raise _unknown(ledger, file, f"{path} has not the size that was committed")
        status = {
            "path": uri(path),
            "size": output.size,
            "isDir": False,
            "modificationTime": found.st_mtime_ns // 1_000_000,
            "blockReplication": 1,
            "blockSize": BLOCK_SIZE,
            "action": "add",
        }
        lines.append(_json(status))
    return lines


def _inputs_of(ledger: Ledger, source: str, number: int, file: Path) -> Lines:
    """The files that a source read at an offset, as its log records them."""
    before = -1
    for batch in ledger.batches():
        offset = batch.offsets.get(source)
        after = -1 if offset is None else int(offset["logOffset"])
        if before < number <= after:
            if after - before > 1:
                why = f"batch {batch.batch} has read several entries, and nothing tells them apart"
                raise _unknown(ledger, file, why)
            read = (one for one in batch.inputs if one.source == source)
            return [
                _json({"path": uri(one.on_disk), "timestamp": one.modified_ms, "batchId": number})
                for one in read
            ]
        before = after
    raise _unknown(ledger, file, "no batch in the ledger has read it")


def _lines(file: Path, number: int) -> tuple[str, ...]:
    return read_log_file(file, number, (1,)).lines


def _text(lines: Lines) -> str:
    return "\n".join(("v1", *lines))


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _unknown(ledger: Ledger, file: Path, why: str) -> EntryUnknown:
    return unknown(file, why, file.parent, ledger.layout.name)
