"""The books of a pipeline, written again for files that have lost rows.

Batch, sink log, lists, sealed sets, verdicts and events name files by path, size and rows. All of
them are then as if the erased rows had never been there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tidemill.contract.document import Document
from tidemill.contract.layout import Layout
from tidemill.file_formats.parquet import read_footer
from tidemill.generations.relocation import Rewrite
from tidemill.increments.increments import Increments, Sealed, Verdict, hash_of_files
from tidemill.increments.records import Rejection, Release
from tidemill.journal.event import Event
from tidemill.journal.journal import Journal
from tidemill.journal.published_files import PublishedFile, PublishedFiles
from tidemill.ledger.ledger import Batch, Ledger, OutputFile
from tidemill.steps.upkeep.erase.pages import without_samples
from tidemill.steps.upkeep.erase.row_file import suffix_of
from tidemill.steps.upkeep.erase.sink_logs import rewritten_logs
from tidemill.storage import documents


@dataclass(frozen=True)
class Books:
    """The documents that name files.

    Args:
        replaced: File -> the same without its erased rows, which is there.
        erasure: The number of the erasure.
    """

    layout: Layout
    replaced: Mapping[Path, Path]
    erasure: int

    def rewrites(self) -> Iterator[Rewrite]:
        """The documents to write again, each before the next one is asked for.

        Those of increments and events follow from the batches, as these are by then. One that was
        written already is passed over.
        """
        yield from self._batches()
        yield from rewritten_logs(self.layout, self.replaced)
        for number in self.increments:
            yield from self._increment(number)
        for seq, event in self.events():
            yield from _changed(Journal(self.layout.journal).folder / f"{seq:06d}.json", event)
        yield from self._lists()

    def events(self) -> Iterator[tuple[int, Event]]:
        """The events of the increments, withdrawn ones too, as they are to be."""
        numbers = {*self.increments}
        for seq, path in documents.numbered(self.layout.journal):
            event = documents.read(path, Event)
            if event is not None and event.increment in numbers:
                yield seq, self._event(event)

    @cached_property
    def increments(self) -> list[int]:
        """The increments with files that this erasure has written."""
        store = Increments(self.layout.increments)
        found = []
        for number in store.numbers():
            place = store.sealed(number).stored_in
            batches = (n for name, n in self.batches if name == place.generation)
            if any(place.first <= batch <= place.last for batch in batches):
                found.append(number)
        return found

    @cached_property
    def batches(self) -> list[tuple[str, int]]:
        """Generation and number of the batches with files of this erasure, replaced or to be."""
        return [
            (batch.generation, batch.batch)
            for _, batch in self._ledgers()
            if any(self._is_affected(batch, file) for file in batch.outputs)
        ]

    def _is_affected(self, batch: Batch, file: OutputFile) -> bool:
        there = self.layout.sink(batch.generation) / file.path
        return there in self.replaced or suffix_of(self.erasure) in there.name

    def _ledgers(self) -> Iterator[tuple[Path, Batch]]:
        for ledger in sorted((self.layout.home / "ledger").glob("*")):
            for _, path in documents.numbered(ledger):
                batch = documents.read(path, Batch)
                if batch is not None:
                    yield path, batch

    def _batches(self) -> Iterator[Rewrite]:
        for path, batch in self._ledgers():
            sink = self.layout.sink(batch.generation)
            outputs = tuple(self._output(file, sink) for file in batch.outputs)
            if outputs != batch.outputs:
                update = {
                    "outputs": outputs,
                    "rows": batch.rows - _fewer(batch.outputs, outputs, rejected=False),
                    "rejected": batch.rejected - _fewer(batch.outputs, outputs, rejected=True),
                    "rows_per_row": "at_most_one"
                    if batch.rows_per_row == "one"
                    else batch.rows_per_row,
                }
                yield Rewrite(path, batch.model_copy(update=update).content())

    def _output(self, file: OutputFile, sink: Path) -> OutputFile:
        new = self.replaced.get(sink / file.path)
        if new is None:
            return file
        footer = read_footer(new)
        update = {
            "path": str(new.relative_to(sink)),
            "size": footer.size,
            "rows": footer.rows,
            "uncompressed_bytes": footer.uncompressed_bytes,
        }
        return file.model_copy(update=update)

    def _increment(self, number: int) -> Iterator[Rewrite]:
        store = Increments(self.layout.increments)
        folder, sealed = store.folder_of(number), store.sealed(number)
        batches = Ledger(self.layout, sealed.generation).batches(sealed.first, sealed.last)
        hashed = hash_of_files(batches, sealed.net)
        update: dict[str, Any] = {
            "files_hash": hashed,
            "rows": sum(one.rows for one in batches),
            "rejected": sum(one.rejected for one in batches),
        }
        yield from _changed(folder / "sealed.json", sealed.model_copy(update=update))
        for _, path in documents.numbered(folder):
            verdict = documents.read(path, Verdict)
            if verdict is not None:
                judged = {"files_hash": hashed, "judgement": without_samples(verdict.judgement)}
                yield from _changed(path, verdict.model_copy(update=judged))
        for kind in (Release, Rejection):
            path = folder / f"{kind.__name__.lower()}.json"
            decision = documents.read(path, kind)
            if decision is not None:
                yield from _changed(path, decision.model_copy(update={"files_hash": hashed}))

    def _event(self, event: Event) -> Event:
        sealed: Sealed = Increments(self.layout.increments).sealed(event.increment)
        hashed = {"files_hash": sealed.files_hash}
        update = {
            **hashed,
            "rows": 0 if event.rejection else sealed.rows,
            "rejected": 0 if event.rejection else sealed.rejected,
            "verdict": {**event.verdict, **(hashed if event.verdict else {})},
            "release": event.release and {**event.release, **hashed},
            "rejection": event.rejection and {**event.rejection, **hashed},
        }
        return event.model_copy(update=update)

    def _lists(self) -> Iterator[Rewrite]:
        """The lists of files, for readers of plain files."""
        hashes = {seq: event.files_hash for seq, event in self.events()}
        home = self.layout.home
        for path, found in _read_lists(self.layout):
            files = tuple(self._listed(file) for file in found.files)
            named = ((one, self.replaced.get(home / one)) for one in found.removes)
            update = {
                "files": files,
                "removes": tuple(
                    one if new is None else str(new.relative_to(home)) for one, new in named
                ),
                "rows": sum(file.rows for file in files),
                "files_hash": hashes.get(found.seq, found.files_hash),
            }
            yield from _changed(path, found.model_copy(update=update))

    def _listed(self, file: PublishedFile) -> PublishedFile:
        new = self.replaced.get(self.layout.home / file.path)
        if new is None:
            return file
        footer = read_footer(new)
        path = str(new.relative_to(self.layout.home))
        return file.model_copy(update={"path": path, "size": footer.size, "rows": footer.rows})


def _fewer(before: tuple[OutputFile, ...], after: tuple[OutputFile, ...], *, rejected: bool) -> int:
    pairs = zip(before, after, strict=True)
    return sum(old.rows - new.rows for old, new in pairs if old.rejected is rejected)


def _changed(path: Path, document: Document) -> Iterator[Rewrite]:
    text = document.content()
    if path.read_text(encoding="utf-8") != text:
        yield Rewrite(path, text)


def _read_lists(layout: Layout) -> Iterator[tuple[Path, PublishedFiles]]:
    for _, path in documents.numbered(layout.published):
        found = documents.read(path, PublishedFiles)
        if found is not None:
            yield path, found
