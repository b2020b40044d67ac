"""The drill of one pipeline: copy, run without kills, run with kills, compare row for row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemill.contract.layout import Layout
from tidemill.contract.log import Log
from tidemill.file_formats.arrow_files import file_system
from tidemill.file_formats.delta_diff import RowsDiff, open_newest, rows_apart
from tidemill.journal.published_files import files_now
from tidemill.publish.rejected.table import SAID
from tidemill.steps.read_only.drill.killed_run import (
    Kill,
    QuietRunFailed,
    run_quietly,
    run_with_kills,
)
from tidemill.steps.read_only.drill.moments import choose_moments
from tidemill.steps.read_only.drill.scratch_copy import ScratchCopy

if TYPE_CHECKING:
    import pyarrow.dataset as ds


@dataclass(frozen=True)
class Comparison:
    """A published table after the run with kills, compared with that of the run without.

    Args:
        table: `table`, `rejected` or `published`, the folder in which readers find it.
        rows: Those of the run without kills.
        apart: `removed` rows are missing after the kills, `added` ones are too many.
    """

    table: str
    rows: int
    apart: RowsDiff

    @property
    def equal(self) -> bool:
        return not (self.apart.added or self.apart.removed)


def drill(
    copy: ScratchCopy,
    kills: int,
    seed: int,
    limit: int,
    tell: Log,
    tell_kill: Callable[[Kill], object],
) -> tuple[list[Kill], list[Comparison]]:
    """Run a copy twice, the second time with kills, and compare what both have published.

    Args:
        limit: Most rows of a difference to return for each table.
        tell: Gets lines about progress.
        tell_kill: Gets each kill as it is done.

    Raises:
        QuietRunFailed: without a kill a step fails, is held or refused, or nothing is published.
        RetryFailed: a step does not recover from a kill by itself.
    """
    watched = run_quietly(copy.processes("quiet"), tell)
    before = copy.layout("quiet")
    if not any(found.count_rows() for _, found in _tables(before)):
        raise QuietRunFailed(
            f"Without any kill the copy publishes no row of {copy.pipeline.name}.",
            remedy="Drill it when there is input; more of it with a larger --files.",
            step="publish",
            folder=str(copy.folder),
        )
    moments = choose_moments(watched, kills, seed)
    killed = run_with_kills(copy.processes("killed"), moments, seed, tell_kill)
    return killed, [*compare(before, copy.layout("killed"), limit)]


def compare(quiet: Layout, killed: Layout, limit: int) -> Iterator[Comparison]:
    """Compare each table of two runs that either of them has published."""
    import pyarrow.dataset as ds

    before, after = dict(_tables(quiet)), dict(_tables(killed))
    for name in before | after:
        there = before[name] if name in before else after[name]
        empty = ds.dataset(there.schema.empty_table())
        one, other = before.get(name, empty), after.get(name, empty)
        yield Comparison(name, one.count_rows(), rows_apart(one, other, limit))


def _tables(layout: Layout) -> Iterator[tuple[str, ds.Dataset]]:
    """What readers find: the Delta tables, and the rows of the files that are listed."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    table, rejected = open_newest(layout.table), open_newest(layout.rejected)
    if table is not None:
        yield layout.table.name, table
    if rejected is not None:
        # After a kill a batch may hold more files, so that a row's batch is another one.
        said = [field for field in rejected.schema if field.name in SAID]
        yield layout.rejected.name, rejected.replace_schema(pa.schema(said))
    files = [str(file.path) for file in files_now(layout)]
    if files:
        home = file_system(layout.home)
        yield (
            layout.published.name,
            ds.dataset(files, filesystem=home, format="parquet", partitioning="hive"),
        )
