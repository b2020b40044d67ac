"""The scan report: the files that a run read from its sources, and those that remain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.sources.files.probe import NAMED, look
from tidemill.sources.files.problems import InputChanged, InputRedelivered
from tidemill.sources.probe_result import ProbeResult, refuse_held
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec
from tidemill.storage.run_context import RunContext


def refuse_held_files(spec: Spec, probes: Sequence[ProbeResult]) -> None:
    """Before a query starts: stop at what it would misread or pass over.

    Raises:
        Refused: a file is not what the spec says, and the spec rates that `hold`.
    """
    for found in probes:
        if isinstance(spec.sources[found.source], FileSource):
            refuse_held(found.problems)


def report_files(
    run: RunContext, before: Sequence[Batch], written: Sequence[Batch]
) -> list[ProbeResult]:
    """After a query: what it read of every file source, and what is there now.

    Args:
        run: The run; its log gets a line for each problem that the spec rates `warn`.
        before: The batches before the run.
        written: The batches of the run.

    Raises:
        InputChanged: a file changed while or after it was read, and the spec rates that `hold`.
        InputRedelivered: the same of one that another has taken the place of.
    """
    reports = [
        report(name, source, run.layout, before, written)
        for name, source in run.pipeline.spec.sources.items()
        if isinstance(source, FileSource)
    ]
    for found in reports:
        for problem in found.problems:
            if problem.rating is Rating.WARN:
                run.log(f"warning: {problem.error}")
        # What is wrong with files that were not read is for the next run.
        of_read = (InputChanged, InputRedelivered)
        refuse_held(problem for problem in found.problems if isinstance(problem.error, of_read))
    return reports


def report(
    name: str, source: FileSource, layout: Layout, before: Sequence[Batch], run: Sequence[Batch]
) -> ProbeResult:
    """The files that a run read from a source, and those that remain.

    Args:
        name: The source's.
        source: Where it lists files.
        layout: The pipeline's layout.
        before: The batches before the run.
        run: Those of the run.
    """
    after = look(name, source, [*before, *run], layout)
    earlier = {f.sha256: f.path for batch in before for f in batch.inputs if f.source == name}
    read = [file for batch in run for file in batch.inputs if file.source == name]
    copies = _copies(read, {key: path for key, path in earlier.items() if key is not None})
    return replace(after, facts={**after.facts, "read": len(read), "read_twice": copies[:NAMED]})


def _copies(read: Sequence[InputFile], known: dict[str, str]) -> list[str]:
    copies = []
    for file in read:
        if file.sha256 is not None and known.setdefault(file.sha256, file.path) != file.path:
            copies.append(file.path)
    return copies
