"""The status of a pipeline: batches, increments, table, and who is writing.

Read from files only, so that the command line and Airflow's pages say the same without a JVM.
"""

from collections.abc import Sequence

from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.file_formats.delta import Head, read_head
from tidemill.generations.build import newest_builds
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.status import IncrementStatus, read_increments
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.late_rows import LateLog
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.orphans import Orphans
from tidemill.reporting.standing import Writer, last_reports, read_writer
from tidemill.reporting.status_document import LastRun


class PipelineStatus(FrozenModel):
    """A pipeline as of now.

    Attributes:
        building: Those that somebody began to build, and that are not live yet.
        pipeline_class: How its rows depend on its batches; None before its first start.
        batches: Committed, and in the ledger.
        unsealed: Those of them that no increment holds yet.
        table: None until something is published.
        late: Rows that came after the watermark had passed them, which no table holds.
        orphans: Files in the sink that no log names; None where the sink was not listed.
        lagging: Target -> increments that went out and that it has still to apply.
        writer: None where the lease is free.
    """

    pipeline: str
    generation: str
    building: tuple[str, ...] = ()
    pipeline_class: PipelineClass | None
    batches: int
    unsealed: int
    increments: tuple[IncrementStatus, ...]
    table: Head | None
    rejected: Head | None
    late: int = 0
    orphans: Orphans | None = None
    lagging: dict[str, int]
    last_run: LastRun | None
    writer: Writer | None

    @property
    def unpublished(self) -> tuple[IncrementStatus, ...]:
        """The increments that still have to go out or to be passed over."""
        return tuple(i for i in self.increments if i.waits)

    @property
    def held(self) -> tuple[IncrementStatus, ...]:
        return tuple(i for i in self.increments if i.state == "held")


def read_status(layout: Layout, targets: Sequence[str] = ()) -> PipelineStatus:
    """The status of a pipeline; one that never ran has no batches.

    Args:
        targets: Their names, as the spec has them.

    Raises:
        TornDocument: one of our documents is damaged.
    """
    snapshot = Snapshot(layout)
    generation = snapshot.generation
    latest = Ledger(layout, generation).latest()
    note = read_note(layout, generation)
    sealed = snapshot.last_sealed(generation)
    last = next(last_reports(layout.runs), None)
    return PipelineStatus(
        pipeline=layout.name,
        generation=generation,
        building=tuple(one.generation for one in newest_builds(layout)),
        pipeline_class=None if note is None else note.pipeline_class,
        batches=latest + 1,
        unsealed=latest - sealed,
        increments=read_increments(snapshot),
        table=read_head(layout.table),
        rejected=read_head(layout.rejected),
        late=LateLog(layout, generation).total(),
        lagging={name: lag for name in targets if (lag := len(snapshot.journal.behind(name)))},
        last_run=None if last is None else LastRun.of(last),
        writer=read_writer(layout),
    )
