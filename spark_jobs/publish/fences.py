"""All fences of a pipeline: what refuses the writers of older epochs."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from spark_jobs.contract.layout import Layout
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.ledger import documents
from spark_jobs.publish.commit import LEASE_TRANSACTION
from spark_jobs.publish.database_target import DatabaseTarget
from spark_jobs.publish.fence import Fence
from spark_jobs.publish.files_target import PublishedFiles
from spark_jobs.publish.targets import targets_of


def fences_on_disk(layout: Layout) -> list[Fence]:
    """The fences of a pipeline that cost no connection."""
    found = [_of_table(layout.table), _of_table(layout.rejected), _of_lists(layout)]
    return [fence for fence in found if fence is not None]


def all_fences(pipeline: Pipeline) -> list[Fence]:
    """The fences of a pipeline, those in databases too.

    Raises:
        TargetUnreachable: a database does not answer.
    """
    found = fences_on_disk(pipeline.layout)
    for target in targets_of(pipeline, 0, lambda _: None):
        if isinstance(target, DatabaseTarget):
            with target.session() as session:
                head = session.read_head()
            if head is not None and head.pipeline == pipeline.name:
                found.append(Fence(where=target.name, epoch=head.epoch))
    return found


def _of_table(path: Path) -> Fence | None:
    if not DeltaTable.is_deltatable(str(path)):
        return None
    epoch = DeltaTable(path).transaction_version(LEASE_TRANSACTION)
    return None if epoch is None else Fence(where=str(path), epoch=epoch)


def _of_lists(layout: Layout) -> Fence | None:
    last = documents.newest(layout.published)
    listed = last and documents.read(layout.published / f"{last:06d}.json", PublishedFiles)
    return Fence(where=str(layout.published), epoch=listed.epoch) if listed else None
