"""Probes a file source: what waits there, and what Spark would skip or misread.

Spark passes over late files, files that grew and files delivered again under an old name, without a
word (failure-modes rows 16 to 19). Here they become findings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.sources.files.problems import problems_of_content, problems_of_scan
from tidemill.sources.files.scan import Scan, scan
from tidemill.sources.files.vanished import problems_of_vanished
from tidemill.sources.probe_result import ProbeResult, refuse_held
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec

# Paths of a kind that a report names; the numbers count all.
NAMED = 10


def look(name: str, source: FileSource, batches: Sequence[Batch], layout: Layout) -> ProbeResult:
    """Probes a source's directory for new files, and for files that Spark would skip or misread.

    Args:
        name: The source's, in the spec.
        source: Where it lists files.
        batches: All of the generation.
        layout: The pipeline's layout.

    Raises:
        Refused: as for `scan`: it cannot be listed as Spark would list it.
    """
    found = scan(name, source, batches)
    problems = problems_of_vanished(name, source, found, layout)
    problems += problems_of_scan(name, source, found)
    problems += problems_of_content(name, source, [file.path for file in found.new])
    return ProbeResult(
        name,
        new=len(found.new),
        unit="files",
        backlog_bytes=found.backlog_bytes,
        last_arrival=found.last_arrival,
        problems=tuple(problems),
        facts=_counts(found),
    )


def inspect(spec: Spec, inputs: Sequence[InputFile]) -> None:
    """Look at what a batch has read: it may have arrived after all was looked at.

    Raises:
        Refused: Spark made something else of a file than the spec says, and the spec rates it hold.
    """
    for name, source in spec.sources.items():
        if isinstance(source, FileSource):
            paths = [file.on_disk for file in inputs if file.source == name]
            refuse_held(problems_of_content(name, source, paths))


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
    return {
        "seen": found.seen,
        **{kind: len(files) for kind, files in kinds.items()},
        "files": named,
    }
