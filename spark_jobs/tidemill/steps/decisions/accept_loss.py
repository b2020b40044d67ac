"""Accept a loss: a person accepts, with name and reason, that expired records were never read."""

import os
from collections.abc import Mapping, Sequence

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import UsageError
from tidemill.contract.os_user import os_user
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.losses import AcceptedLoss, Losses
from tidemill.sources.kafka.probe import KafkaProbeResult, probe
from tidemill.spark_logs.offset_ranges import records_in
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.steps.decisions.checks import refuse_missing_reason
from tidemill.steps.decisions.release import PATIENCE_SECONDS
from tidemill.storage.lease import hold


class NothingLost(UsageError):
    """No unread record of any Kafka source is gone; carries `pipeline`."""


class LossChanged(UsageError):
    """The loss differs from what was shown; carries `source`, `shown` and `gone`."""


def find_losses(
    pipeline: Pipeline, environ: Mapping[str, str] = os.environ
) -> list[KafkaProbeResult]:
    """Probe each Kafka source that has lost unread records without an accepted loss.

    Raises:
        NothingLost: there is none.
        TopicRecreated: a topic is another one than was read, whose records cannot be passed over.
        BrokerUnreachable: no answer in time.
    """
    batches = Ledger(pipeline.layout, generation_of(pipeline)).batches()
    sources = pipeline.spec.sources_of(KafkaSource)
    probes = [probe(name, source, pipeline, batches, environ) for name, source in sources.items()]
    found = [one for one in probes if one.gone and one.accepted is None]
    if not found:
        raise NothingLost(
            f"No unread records of {pipeline.name} are gone that were not accepted already.",
            remedy=f"Go on with `tidemill run {pipeline.name}`.",
            pipeline=pipeline.name,
        )
    return found


def accept_losses(
    pipeline: Pipeline,
    shown: Sequence[KafkaProbeResult],
    *,
    by: str,
    reason: str,
    run_id: str,
    environ: Mapping[str, str] = os.environ,
) -> list[AcceptedLoss]:
    """Record that exactly what was shown may be passed over; the next ingest does it.

    Args:
        shown: What the person has seen.
        reason: Why, for whoever misses the records.

    Raises:
        ReasonMissing: `reason` or `by` is empty.
        LossChanged: more has expired since it was shown.
        LeaseHeld: a step is writing to this pipeline.
    """
    refuse_missing_reason("acceptance", by=by, reason=reason)
    with hold(pipeline.layout.lease, step="accept-loss", run_id=run_id, patience=PATIENCE_SECONDS):
        today = {one.source: one for one in find_losses(pipeline, environ)}
        for before in shown:
            _must_be_the_same(pipeline, before, today.get(before.source))
        return [_accept(pipeline, one, by.strip(), reason.strip()) for one in shown]


def _accept(pipeline: Pipeline, seen: KafkaProbeResult, by: str, reason: str) -> AcceptedLoss:
    losses = Losses(pipeline.layout, generation_of(pipeline), seen.source)
    loss = AcceptedLoss(
        source=seen.source,
        number=len(losses.all()) + 1,
        ranges=seen.gone,
        records=records_in(seen.gone),
        by=by,
        os_user=os_user(),
        reason=reason,
        accepted=wall_clock(),
    )
    losses.accept(loss)
    return loss


def _must_be_the_same(
    pipeline: Pipeline, shown: KafkaProbeResult, now: KafkaProbeResult | None
) -> None:
    gone = now.gone if now is not None else ()
    if shown.gone != gone:
        raise LossChanged(
            f"sources.{shown.source}: what is gone has changed since it was shown.",
            remedy="See what is gone now, and decide again: "
            f"tidemill accept-loss {pipeline.name} --reason TEXT.",
            source=shown.source,
            shown=[one.model_dump() for one in shown.gone],
            gone=[one.model_dump() for one in gone],
        )
