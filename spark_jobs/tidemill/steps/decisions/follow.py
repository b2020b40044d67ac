"""Follow: asks for the partitions that are due since tables upstream were computed again."""

from collections.abc import Sequence

from tidemill.contract.clock import Clock
from tidemill.contract.errors import Refused
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.sources.due import Due, all_partitions
from tidemill.sources.probe import due_of
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.parts.pending_work import Work
from tidemill.storage.run_context import RunContext

# Who asks where a run follows of its own accord.
TIDEMILL = "tidemill"


class NotFollowable(Refused):
    """No backfill follows what was computed again upstream; carries `pipeline` and `why`."""


def due_now(pipeline: Pipeline) -> tuple[list[Due], Partitions | None]:
    """All that is due in a pipeline, and the partitions of it that can be computed again now.

    Raises:
        NotFollowable: only a rebuild can follow.
        HistoryExpired: the log of a table upstream says no more what was swapped.
    """
    due = due_of(pipeline, Snapshot(pipeline.layout))
    refused = next((one for one in due if one.refusal), None)
    if refused is not None:
        name = pipeline.name
        raise NotFollowable(
            f"Due in {name} since '{refused.upstream}' computed rows again: {refused}. No backfill "
            f"of {name} follows: {refused.refusal}.",
            remedy=f"Compute everything again: tidemill rebuild {name} --reason TEXT.",
            pipeline=name,
            why=refused.refusal,
        )
    return due, all_partitions(due)


def named(partitions: Partitions) -> tuple[dict[str, str | None], ...]:
    """Partitions as a request names them; the whole table is one without columns."""
    if partitions.everything:
        return ({},)
    return tuple(dict(zip(partitions.columns, one, strict=True)) for one in partitions.values)


def follow_of(
    found: Sequence[ProbeResult], work: Sequence[Work], clock: Clock
) -> RunRequest | None:
    """What a live run does in place of taking in more; None where nothing is to be followed.

    Args:
        found: A look at every source.
        work: What the run would do; what earlier runs began is finished first.
    """
    due = [look.follows for look in found if look.follows is not None]
    partitions = all_partitions(due)
    if partitions is None or any(one.kind != "ingest" for one in work):
        return None
    said = "; ".join(
        f"{one.upstream} computed rows again (version {', '.join(map(str, one.open_versions))})"
        for one in due
        if one.partitions is not None
    )
    return RunRequest(
        role="backfill", partitions=named(partitions), by=TIDEMILL, reason=said, asked=clock()
    )


def fix_follow(run: RunContext, request: RunRequest) -> bool:
    """Make a run one that follows, unless it has begun something already."""
    return fix_request(run.layout.run(run.run_id), request).role == request.role
