"""Removes what Spark had begun at a power cut and the ledger does not know.

What is whole stays, and Spark goes on there. From the first torn file on all is taken away, and
Spark runs these batches again: by the same plan where that is whole, else by a new one, for which
it lists again the input files that no plan names.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from tidemill.contract.errors import Refused
from tidemill.file_formats.table import READERS
from tidemill.file_formats.written_format import WriteFormat
from tidemill.generations.repairs.repair import Repair, unknown
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.manifests import MANIFEST, folder_of
from tidemill.spark_logs.commit_log import read_commit
from tidemill.spark_logs.compactible_log import COMPACT
from tidemill.spark_logs.metadata_log import TornLogEntry, batch_files
from tidemill.spark_logs.offset_log import read_offsets
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY, read_sink_entry
from tidemill.spark_logs.source_log import read_source_entry
from tidemill.spec.formats.table import FORMATS

Log = Literal["offsets", "sink", "commits"]
# The order in which Spark writes them for a batch.
LOGS: tuple[Log, ...] = ("offsets", "sink", "commits")
MISSING = "it is missing"


@dataclass(frozen=True)
class Tail:
    """The batches after the last that the ledger knows.

    Args:
        file_sources: The names of the sources that keep a log of their files.
    """

    ledger: Ledger
    note: GenerationNote
    file_sources: Collection[str]

    def repairs(self) -> Iterator[Repair]:
        """The files to remove, the latest first.

        Raises:
            EntryUnknown: the plan of a batch is torn, and its rows count already.
        """
        torn = self._first_torn
        if torn is not None:
            number, log, why = torn
            if (number, log) == (0, "offsets"):
                yield from self._first_state(why)
            for one in reversed(self._begun):
                for other in reversed(LOGS):
                    if (one, LOGS.index(other)) < (number, LOGS.index(log)):
                        continue
                    self._refuse_counted(one, other, why)
                    if one in self._files[other]:
                        first = (one, other) == (number, log)
                        yield Repair(
                            self._files[other][one], why if first else f"batch {number}: {why}"
                        )
        yield from self._sources()

    def _first_state(self, why: str) -> Iterator[Repair]:
        """The state of a first batch whose plan is removed: Spark wants none before that plan."""
        state = self.ledger.checkpoint / "state"
        if state.is_dir():
            yield Repair(state, f"batch 0: {why}")

    @cached_property
    def _files(self) -> Mapping[Log, Mapping[int, Path]]:
        checkpoint, sink = self.ledger.checkpoint, self.ledger.sink / METADATA_DIRECTORY
        found: dict[Log, dict[int, Path]] = {
            "offsets": batch_files(checkpoint / "offsets"),
            "sink": batch_files(sink) | batch_files(sink, COMPACT),
            "commits": batch_files(checkpoint / "commits"),
        }
        known = self.ledger.latest()
        return {log: {n: f for n, f in of.items() if n > known} for log, of in found.items()}

    @property
    def _begun(self) -> list[int]:
        last = max((n for files in self._files.values() for n in files), default=-1)
        return [*range(self.ledger.latest() + 1, last + 1)]

    @cached_property
    def _first_torn(self) -> tuple[int, Log, str] | None:
        """The first batch and log with something torn or missing, and what it is."""
        for number in self._begun:
            for log in LOGS:
                if why := self._problem(number, log):
                    return number, log, why
        return None

    def _problem(self, number: int, log: Log) -> str | None:
        file = self._files[log].get(number)
        if file is None:
            return MISSING if self._must_be_there(number, log) else None
        try:
            if log == "offsets":
                return self._planned_files_problem(number, read_offsets(file, number).sources)
            if log == "commits":
                read_commit(file, number)
                return None
            for one in read_sink_entry(file, number, self.ledger.sink):
                if not one.path.exists() or one.path.stat().st_size != one.size:
                    return f"{one.path} is not as it was committed"
                if FORMATS[self.note.format].self_describing:
                    written = WriteFormat(format=self.note.format)
                    READERS[written.format].measure(one.path, written)
        except TornLogEntry as error:
            return str(error.reason)
        except Refused as error:
            return error.what
        return None

    def _must_be_there(self, number: int, log: Log) -> bool:
        if log == "sink" and self.note.writes != "files":
            return False
        later = any(number in self._files[one] for one in LOGS[LOGS.index(log) + 1 :])
        # Continuous epochs are planned ahead of their commits.
        return later or (number < self._begun[-1] and not self.note.continuous)

    def _planned_files_problem(self, number: int, sources: Mapping[str, Any]) -> str | None:
        """Problems with the input files that a plan names."""
        before = self._sources_before(number)
        for source, offset in sources.items():
            if isinstance(offset, dict) and "logOffset" in offset:
                entries = self._entries(source)
                for one in range(_count(before.get(source)) + 1, int(offset["logOffset"]) + 1):
                    if one not in entries:
                        return f"entry {one} of source {source} is missing"
                    read_source_entry(entries[one], one)
        return None

    def _sources_before(self, number: int) -> Mapping[str, Any]:
        known = self.ledger.latest()
        if number > known + 1:
            return read_offsets(self._files["offsets"][number - 1], number - 1).sources
        return self.ledger.batches(known, known)[0].offsets if known >= 0 else {}

    def _entries(self, source: str) -> Mapping[int, Path]:
        folder = self.ledger.checkpoint / "sources" / source
        return batch_files(folder) | batch_files(folder, COMPACT)

    def _sources(self) -> Iterator[Repair]:
        """Torn entries of files that no plan names, and those after them."""
        torn = self._first_torn
        next_plan = self._begun[-1] + 1 if self._begun else self.ledger.latest() + 1
        if torn is not None:
            next_plan = torn[0] + (torn[1] != "offsets")
        planned = self._sources_before(next_plan)
        for source in sorted({*self.file_sources} & ({*planned} or {*self.file_sources})):
            entries = self._entries(source)
            after = sorted(n for n in entries if n > _count(planned.get(source)))
            first = next((n for n in after if _torn(entries[n], n)), None)
            for number in reversed(after) if first is not None else ():
                if first is not None and number >= first:
                    yield Repair(entries[number], f"entry {first} is torn")

    def _refuse_counted(self, number: int, log: Log, why: str) -> None:
        manifest = folder_of(self.ledger.sink, number) / MANIFEST
        if log == "offsets" and manifest.exists():
            raise unknown(
                self.ledger.checkpoint / "offsets" / str(number),
                f"{why}, and {manifest} was written for its plan",
                self.ledger.checkpoint,
                self.ledger.layout.name,
            )


def _count(offset: Any) -> int:
    """The last entry that an offset stands for, -1 for none."""
    return int(offset["logOffset"]) if isinstance(offset, dict) else -1


def _torn(file: Path, number: int) -> bool:
    try:
        read_source_entry(file, number)
    except TornLogEntry:
        return True
    return False
