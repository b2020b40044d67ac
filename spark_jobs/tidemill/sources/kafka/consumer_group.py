"""Commits the offsets up to which a pipeline has published to consumer groups, for lag monitors.

A run never reads them: where it reads on is for Spark's checkpoint to say. So a commit that fails
harms nothing but the monitor, and the next publish makes up for it.
"""

import os
from collections.abc import Mapping

from tidemill.contract.connections.airflow import connection
from tidemill.contract.errors import TidemillError
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.offset_ranges import as_offsets
from tidemill.spec.sources.kafka import KafkaSource, Offsets
from tidemill.storage.run_context import LeasedRun


def commit_published(
    run: LeasedRun, snapshot: Snapshot, environ: Mapping[str, str] = os.environ
) -> None:
    """Commit the offsets after the last published batch; a failure is said, and never raised.

    They go back only where the published table does, as when a backup is restored: a backfill
    moves no position, and a rebuild goes out only if it holds all that was published.
    """
    sources = run.pipeline.spec.sources_of(KafkaSource)
    for name, source in sources.items():
        group = source.commit_to_group
        if group is None:
            continue
        try:
            batch = _last_published(run, snapshot)
            offsets = as_offsets(batch.offsets.get(name)) if batch else {}
            if offsets:
                _commit(run, source, group, offsets, environ)
        except TidemillError as error:
            run.log(
                f"warning: the published offsets of sources.{name} are not committed to the "
                f"consumer group {group}: {error.what}"
            )


def _commit(
    run: LeasedRun, source: KafkaSource, group: str, offsets: Offsets, environ: Mapping[str, str]
) -> None:
    # A pipeline without Kafka needs no client of it.
    from tidemill.sources.kafka.broker import Broker

    broker = Broker(connection(source.conn_id, environ))
    run.lease.check()
    broker.commit(group, offsets)


def _last_published(run: LeasedRun, snapshot: Snapshot) -> Batch | None:
    """The last batch that consumers see, or whose rows a person rejected; None before the first."""
    journal = snapshot.journal
    in_order = (event for event in reversed(snapshot.events) if event.kind != "swap")
    last = next((event for event in in_order if journal.is_published(event.seq)), None)
    if last is None:
        return None
    (batch,) = Ledger(run.layout, last.generation).batches(last.last, last.last)
    return batch
