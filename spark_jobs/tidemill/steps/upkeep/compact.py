"""Compact: small files of the published Delta tables become larger ones, and their logs shorter."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.publish.delta.commit import load
from tidemill.publish.delta.compaction import Compaction, SmallFiles
from tidemill.publish.delta.log_checkpoint import checkpoint_log, entries_to_cover
from tidemill.spark_logs.partition_paths import partition_directory
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec
from tidemill.spec.targets import Compact, DeltaTarget
from tidemill.steps.upkeep.leftover import Leftover, leftover
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.run_context import RunContext

# A long ingest is not waited for.
PATIENCE_SECONDS = 5.0


class NoDeltaTable(UsageError):
    """A pipeline publishes no Delta table, or none with such partitions; carries `pipeline`."""


@dataclass(frozen=True)
class CompactRequest:
    """What a person asks to be compacted.

    Args:
        partitions: Partitions of the published table, each by some of its columns; the whole of
            both tables where there is none.
    """

    partitions: Sequence[Mapping[str, str | None]] = field(default=())

    def plan(self, run: RunContext) -> list[Leftover]:
        """What would be compacted now; nothing is changed.

        Raises:
            NoDeltaTable: the pipeline publishes none, or it has no such partition columns.
        """
        found = []
        for one in self._compactions(run.pipeline):
            table = load(one.path)
            found += [_as_leftover(one.path, small) for small in one.find(table)] if table else []
            found += _entries(one.path)
        return found

    def apply(self, run: RunContext) -> list[Leftover]:
        """Compact it, a bounded part at a time, each under the lease and in one commit.

        One that was killed is continued by the next: what it wrote and did not commit is in no
        version of the table.

        Returns:
            What was compacted.

        Raises:
            NoDeltaTable: as `plan`.
            NotCompacted: files cannot be written as one; what was done until then stays done.
            LeaseHeld: another process writes to the pipeline; likewise.
        """
        found = []
        for one in self._compactions(run.pipeline):
            while done := _some(run, one):
                found += [_as_leftover(one.path, small) for small in done]
            entries = _entries(one.path)
            if entries:
                with run.hold("compact", patience=PATIENCE_SECONDS), disk_errors(one.path):
                    checkpoint_log(run.layout, one.path)
                found += entries
        return found

    def _compactions(self, pipeline: Pipeline) -> Iterator[Compaction]:
        target, layout = _delta_target(pipeline.spec), pipeline.layout
        if target is None:
            kinds = ", ".join(one.kind for one in pipeline.spec.publish)
            raise NoDeltaTable(
                f"{pipeline.name} publishes to {kinds}, and no Delta table that could be "
                "compacted.",
                remedy="Compact an Iceberg table with an engine that writes it, such as Spark's "
                "rewrite_data_files.",
                pipeline=pipeline.name,
            )
        how = target.compact or Compact()
        _refuse_other_columns(pipeline, self.partitions)
        yield Compaction(layout, layout.table, how.target_size, how.sort_by, self.partitions)
        if not self.partitions:
            yield Compaction(layout, layout.rejected, how.target_size)


def compacts(spec: Spec) -> bool:
    """Whether upkeep compacts the table of a pipeline."""
    target = _delta_target(spec)
    return target is not None and target.compact is not None


def _delta_target(spec: Spec) -> DeltaTarget | None:
    targets = (one for one in spec.publish if isinstance(one, DeltaTarget))
    return next(targets, None) if spec.published else None


def _some(run: RunContext, one: Compaction) -> list[SmallFiles]:
    table = load(one.path)
    if table is None or not one.find(table):
        return []
    with run.hold("compact", patience=PATIENCE_SECONDS) as held, disk_errors(one.path):
        return one.commit_some(held.epoch, run.run_id)


def _refuse_other_columns(
    pipeline: Pipeline, partitions: Sequence[Mapping[str, str | None]]
) -> None:
    columns = list(pipeline.spec.output.partition_by)
    unknown = [name for one in partitions for name in one if name not in columns]
    if unknown:
        raise NoDeltaTable(
            f"The table of {pipeline.name} is not partitioned by {unknown[0]}.",
            remedy=f"Name partitions by: {', '.join(columns) or 'nothing, as it has none'}.",
            pipeline=pipeline.name,
        )


def _as_leftover(table: Path, small: SmallFiles) -> Leftover:
    oldest = min(
        (file.path.stat().st_mtime for file in small.files if file.path.exists()), default=0
    )
    folder = table / partition_directory(dict(small.partition))
    return Leftover("small", folder, len(small.files), small.size, oldest)


def _entries(table: Path) -> list[Leftover]:
    found = (leftover("entry", path) for path in entries_to_cover(table))
    return [one for one in found if one is not None]
