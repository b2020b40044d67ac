"""The generations before the one that an erasure has built: all that they hold goes.

What goes is data: rows, state and samples. Documents and logs stay; they name files that are gone
then, as after a vacuum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_log import LOG
from tidemill.generations.build import clear_away, generation_builds
from tidemill.generations.relocation import Rewrite
from tidemill.increments.increments import Increments, Verdict
from tidemill.increments.snapshot import Snapshot
from tidemill.publish.delta.erasure import forget_files, live_paths
from tidemill.steps.upkeep.erase.pages import pages_of, without_samples
from tidemill.steps.upkeep.leftover import removals, remove
from tidemill.steps.upkeep.scratch import scratch_generations
from tidemill.storage import documents
from tidemill.storage.folders import remove_folder, walk
from tidemill.storage.run_context import LeasedRun
from tidemill.storage.sync import put_whole, sync_folder

PARQUET = ".parquet"
# Later than any file: what no increment names goes, however new.
ALWAYS = float("inf")


@dataclass(frozen=True)
class Past:
    """What is below a pipeline's folder of earlier generations.

    Args:
        live: The generation that stays; None where all are to go.
        increments: Its increments.
        shown: The files of the newest version of the tables.
    """

    layout: Layout
    live: str | None = None
    increments: frozenset[int] = frozenset()
    shown: frozenset[Path] = frozenset()

    @classmethod
    def before(cls, layout: Layout, live: str) -> Past:
        """All that is not of a generation.

        Args:
            live: It is in every target.
        """
        store = Increments(layout.increments)
        own = (n for n in store.numbers() if store.sealed(n).stored_in.generation == live)
        shown = live_paths(layout.table) | live_paths(layout.rejected)
        return cls(layout, live, frozenset(own), frozenset(shown))

    def has(self, path: Path) -> bool:
        """Whether a file goes."""
        first, *rest = path.relative_to(self.layout.home).parts
        is_data = any(PARQUET in part for part in rest)
        match first:
            case "table" | "rejected":
                of_live = self.live is not None and path.is_relative_to(self.layout.sink(self.live))
                return is_data and LOG not in rest and path not in self.shown and not of_live
            case "increments":
                return is_data and int(rest[0]) not in self.increments
            case "ledger":
                return is_data and rest[0] != self.live
            case "checkpoints":
                # Notes, plans and what was compared with them stay.
                return len(rest) > 1 and rest[0] != self.live and not rest[0].endswith(".plans")
            case "snapshots":
                return True
            case _:
                return removals(self.layout) in path.parents

    def keeps(self, path: Path) -> bool:
        """Whether a file was written by the generation that stays, which has read no such row."""
        if path in self.shown or self.live is None:
            return path in self.shown
        layout = self.layout
        own = (
            layout.sink(self.live),
            layout.checkpoint(self.live),
            *(Increments(layout.increments).folder_of(number) for number in self.increments),
        )
        return any(path.is_relative_to(folder) for folder in own)

    def files(self) -> Iterator[Path]:
        for place, _, names in walk(self.layout.home):
            yield from (place / name for name in sorted(names) if self.has(place / name))

    def folders(self) -> Iterator[Path]:
        """Folders of which nothing stays."""
        for path in sorted((self.layout.home / "checkpoints").glob("*")):
            if path.is_dir() and self.has(path / "any"):
                yield path
        yield from (self.layout.snapshots, removals(self.layout))

    def verdicts(self) -> Iterator[Rewrite]:
        """The verdicts on earlier increments, without values of rows."""
        for number in self.earlier:
            folder = Increments(self.layout.increments).folder_of(number)
            for _, path in documents.numbered(folder):
                verdict = documents.read(path, Verdict)
                if verdict is not None:
                    judged = {"judgement": without_samples(verdict.judgement)}
                    text = verdict.model_copy(update=judged).content()
                    if text != path.read_text(encoding="utf-8"):
                        yield Rewrite(path, text)

    @property
    def earlier(self) -> list[int]:
        """The increments of earlier generations."""
        numbers = Increments(self.layout.increments).numbers()
        return [number for number in numbers if number not in self.increments]


def forget(run: LeasedRun, past: Past) -> None:
    """Remove what is past; done in part before, it goes on."""
    layout = run.layout
    for built in generation_builds(layout):
        if built.generation != past.live:
            run.lease.check()
            clear_away(layout, built)
    for leftover in scratch_generations(Snapshot(layout), ALWAYS):
        run.lease.check()
        remove(layout, leftover)
    for page in pages_of(layout, past.earlier):
        run.lease.check()
        page.unlink(missing_ok=True)
    for verdict in past.verdicts():
        run.lease.check()
        put_whole(verdict.file, verdict.text)
    gone = [*past.files()]
    for table in (layout.table, layout.rejected):
        run.lease.check()
        forget_files(layout, table, {*gone}, {})
    for folder in past.folders():
        run.lease.check()
        if folder.is_dir():
            remove_folder(folder)
    for path in gone:
        run.lease.check()
        path.unlink(missing_ok=True)
    for place in {path.parent for path in gone if path.parent.is_dir()}:
        sync_folder(place)
