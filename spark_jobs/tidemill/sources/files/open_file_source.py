"""A file source without a JVM: what waits there, and what Spark would pass over or misread.

Spark passes over late files, files that grew and files delivered again under an old name, without a
word (failure-modes rows 16 to 19). Here they become problems of a probe.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidemill.contract.clock import wall_clock
from tidemill.contract.counted import bytes_in_words
from tidemill.contract.log import Log
from tidemill.file_formats.reader import DAMAGED
from tidemill.file_formats.table import READERS
from tidemill.journal.takeovers import generation_of, has_rolled_over
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.sources.falling_behind import FallingBehind, falling_behind
from tidemill.sources.files.content_problems import problems_of_content
from tidemill.sources.files.inputs_read import InputsRead, inputs_read
from tidemill.sources.files.lag import falls_behind
from tidemill.sources.files.listing import Found, list_source
from tidemill.sources.files.problems import (
    InputChanged,
    InputPassedOver,
    InputRedelivered,
    problems_of_scan,
)
from tidemill.sources.files.scan import Scan, scan
from tidemill.sources.files.vanished import problems_of_vanished
from tidemill.sources.input_part import InputPart
from tidemill.sources.open_source import OpenSource
from tidemill.sources.probe_result import ProbeResult, Problem, refuse_held
from tidemill.spark_logs.source_log_cut import files_known, keep_from_reading
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource
from tidemill.storage.run_context import LeasedRun

# Paths of a kind that a report names; the numbers count all.
NAMED = 10


@dataclass(frozen=True)
class OpenFileSource(OpenSource[FileSource]):
    """A directory, or a glob, of files."""

    def probe(self, batches: Sequence[Batch]) -> ProbeResult:
        found = scan(self.name, self.spec, batches)
        problems = problems_of_vanished(self.name, self.spec, found, self.pipeline.layout, batches)
        problems += problems_of_scan(self.name, self.spec, found, self.pipeline.name)
        problems += problems_of_content(self.name, self.spec, [file.path for file in found.new])
        problems += self._falling_behind(batches, found)
        return ProbeResult(
            self.name,
            new=len(found.new),
            unit="files",
            backlog_bytes=found.backlog_bytes,
            last_arrival=found.last_arrival,
            oldest_new=found.oldest_new,
            problems=tuple(problems),
            facts=_counts(found),
            still_there=found.still_there,
        )

    def lost(self, part: InputPart) -> InputPart:
        listed = list_source(self.spec, f"sources.{self.name}.path").files
        there = {str(file.path): file for file in listed}
        files = (file for file in part.files if not _is_at(file, there.get(file.path)))
        return replace(part, files=tuple(files))

    def count(self, file: InputFile) -> int | None:
        if not file.is_at(file.on_disk):
            return None
        if file.size == 0:
            return 0
        try:
            return READERS[self.spec.format].records(file.on_disk, self.spec)
        except (FileNotFoundError, *DAMAGED):
            return None

    def inspect(self, files: Sequence[InputFile]) -> None:
        refuse_held(problems_of_content(self.name, self.spec, [file.on_disk for file in files]))

    def record_query(self, run: LeasedRun, result: ProbeResult) -> None:
        """Let Spark know the files that are still there, where its log was cut by a rollover.

        They may have been elsewhere then, in an archive or on a disk that was not mounted.
        """
        generation = generation_of(run.pipeline)
        if self.spec.fileNameOnly or not has_rolled_over(run.layout, generation):
            return
        log = run.layout.checkpoint(generation) / "sources" / self.name
        known = files_known(log)
        unknown = {path: ms for path, ms in result.still_there.items() if path not in known}
        run.lease.check()
        keep_from_reading(log, unknown)

    def report(self, batches: Sequence[Batch], written: Sequence[Batch], log: Log) -> ProbeResult:
        after = self.probe(batches)
        for problem in after.problems:
            # The doctor of the run has said what is passed over, and how fast it is read.
            of_doctor = isinstance(problem.error, InputPassedOver | FallingBehind)
            if problem.rating is Rating.WARN and not of_doctor:
                log(f"warning: {problem.error}")
        # What is wrong with files that were not read is for the next run.
        of_read = (InputChanged, InputRedelivered)
        refuse_held(problem for problem in after.problems if isinstance(problem.error, of_read))
        read = [f for batch in written for f in batch.inputs if f.source == self.name]
        known = inputs_read(self.name, batches, by_name=self.spec.fileNameOnly)
        read_twice = [file.path for file in read if _is_copy(file, known)][:NAMED]
        return replace(after, facts={**after.facts, "read": len(read), "read_twice": read_twice})

    def _falling_behind(self, batches: Sequence[Batch], found: Scan) -> list[Problem]:
        pace = falls_behind(self.pipeline.layout, self.name, batches, found.new, wall_clock())
        problem = falling_behind(self.name, self.spec.falling_behind, pace, bytes_in_words)
        return [] if problem is None else [problem]


def _is_at(file: InputFile, now: Found | None) -> bool:
    return now is not None and (now.size, now.modified_ms) == (file.size, file.modified_ms)


def _is_copy(file: InputFile, known: InputsRead) -> bool:
    """Whether the content of a file was read before, under another name."""
    if file.sha256 is None or file.size is None:
        return False
    return known.contents(file.size).get(file.sha256, file.path) != file.path


def _counts(found: Scan) -> dict[str, Any]:
    kinds: Mapping[str, Sequence[Any]] = {
        "changed": found.changed,
        "redelivered": found.redelivered,
        "same_content": tuple(found.same_content),
        "too_old": found.too_old,
        "overlooked": found.overlooked,
        "not_utf8": found.not_utf8,
    }
    named = {
        kind: [str(file.path) for file in files[:NAMED]] for kind, files in kinds.items() if files
    }
    if found.passed_over:
        named["passed_over"] = [str(path) for path in found.passed_over[:NAMED]]
    return {
        "seen": found.seen,
        **{kind: len(files) for kind, files in kinds.items()},
        "passed_over": len(found.passed_over),
        "files": named,
    }
