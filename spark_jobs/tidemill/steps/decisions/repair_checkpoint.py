"""Repairs Spark's logs after a power cut: shows the repairs first, then does them."""

from collections.abc import Sequence

from tidemill.contract.errors import Refused
from tidemill.generations.repairs.plan import planned_repairs
from tidemill.generations.repairs.repair import Repair, carry_out
from tidemill.generations.verify import open_generation
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.lease import hold

# A person waits at the other end.
PATIENCE_SECONDS = 5.0


class RepairChanged(Refused):
    """The logs are no longer as they were when a repair was shown; carries `shown` and `now`."""


def repair_checkpoint(pipeline: Pipeline, shown: Sequence[Repair], run_id: str) -> list[Repair]:
    """Do what a person was shown, and prove that the generation's parts agree.

    Args:
        shown: What `planned_repairs` said.

    Returns:
        What was done, in order.

    Raises:
        RepairChanged: something else is torn; nothing was done.
        EntryUnknown: something is torn or missing that nothing else tells; nothing was done.
        LeaseHeld: a step is writing to this pipeline.
        Refused: the parts do not agree even so.
    """
    patience = PATIENCE_SECONDS
    with hold(pipeline.layout.lease, step="repair", run_id=run_id, patience=patience) as lease:
        now = planned_repairs(pipeline)
        if now != list(shown):
            raise RepairChanged(
                f"Spark's logs of {pipeline.name} have changed since the repair was shown.",
                remedy=f"Look again: tidemill checkpoint repair {pipeline.name}.",
                shown=[one.as_dict() for one in shown],
                now=[one.as_dict() for one in now],
            )
        lease.check()
        carry_out(now)
        open_generation(pipeline)
    return now
