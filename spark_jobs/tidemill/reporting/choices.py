"""The decisions that a person may take about an increment, each with its consequence."""

from typing import Literal

from tidemill.contract.counted import counted
from tidemill.contract.document import FrozenModel
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.increments.status import IncrementStatus

# Recomputations whose rows take the place of others.
REPLACES = ("backfill", "rebuild")
Action = Literal["release", "reject", "redo", "reinstate"]


class Choice(FrozenModel):
    """A decision that applies to an increment as it is.

    Attributes:
        action: As the resolve DAG and the command line have it.
        consequence: What becomes of the rows, in one line.
        takes_increment: Whether the request names the increment; a redo is of all that waits.
        may_exclude: Whether it can leave input files out from now on.
    """

    action: Action
    consequence: str
    takes_increment: bool = True
    may_exclude: bool = False


def choices(
    increment: IncrementStatus, kept: PipelineClass | None, waiting: int
) -> tuple[Choice, ...]:
    """What a person may decide about an increment; nothing where it is published.

    Args:
        kept: The pipeline's class; None before its first start.
        waiting: The number of increments that wait behind it.
    """
    if increment.state == "rejected":
        return (_reinstate(increment),) if increment.version is not None else ()
    if increment.version is not None or increment.state not in ("held", "sealed"):
        return ()
    in_order = increment.recomputation in (None, "redo")
    found = [_release(increment, waiting)] if increment.state == "held" else []
    if not in_order:
        found.append(_drop(increment))
    elif kept in (None, PipelineClass.MAP):
        found.append(_reject(increment, waiting))
    if in_order:
        found.append(_redo(kept))
    return tuple(found)


def _release(increment: IncrementStatus, waiting: int) -> Choice:
    one = "increment that waits" if waiting == 1 else "increments that wait"
    behind = f", and then the {waiting:,} {one} behind it" if waiting else ""
    replaced = increment.partitions if increment.recomputation in REPLACES else None
    instead = "" if replaced is None else f", in place of those that are published ({replaced})"
    are = "is" if increment.rows == 1 else "are"
    rows = counted(increment.rows, "good row")
    return Choice(
        action="release",
        consequence=f"Its {rows} {are} published as they are{instead}{behind}. "
        "The table's history names you and your reason.",
    )


def _reject(increment: IncrementStatus, waiting: int) -> Choice:
    behind = " What waits behind it goes out." if waiting else ""
    return Choice(
        action="reject",
        consequence=f"Its input never counts: none of its {counted(increment.rows, 'row')} is "
        f"published, not by a backfill or rebuild either.{behind} To reinstate it takes this back.",
    )


def _drop(increment: IncrementStatus) -> Choice:
    return Choice(
        action="reject",
        consequence=f"It is dropped: none of its {counted(increment.rows, 'row')} is published, "
        "and the table stays as it is. Its input counts as before.",
    )


def _redo(kept: PipelineClass | None) -> Choice:
    row_by_row = kept in (None, PipelineClass.MAP)
    how = "" if row_by_row else " from the state before it"
    instead = (
        ""
        if row_by_row
        else " Its rows are in the state of later batches, so that this is "
        "the only way to go on without some of its input."
    )
    return Choice(
        action="redo",
        consequence=f"All that is unpublished is computed again{how}, with today's transform, and "
        f"judged by today's suite. Files that you name are left out for good.{instead}",
        takes_increment=False,
        may_exclude=True,
    )


def _reinstate(increment: IncrementStatus) -> Choice:
    return Choice(
        action="reinstate",
        consequence=f"Its input counts again: its {counted(increment.rows, 'row')} will be "
        "computed, judged and added.",
    )
