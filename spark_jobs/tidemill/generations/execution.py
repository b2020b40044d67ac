"""Whether a generation runs in batches or as epochs of a continuous query.

Spark keeps both in the same folders and reads neither from the other: a continuous query ends with
a ClassCastException on named offsets, a query by batches with a NullPointerException on epochs,
which have no watermark (Spark 4.2). So a generation stays as it was born.
"""

from tidemill.contract.errors import Refused
from tidemill.contract.layout import pipeline_holding
from tidemill.generations.generation import Generation


class ExecutionChanged(Refused):
    """A checkpoint would go from batches to continuous or back; carries `born` and `asked`."""


def verify_execution(generation: Generation, *, continuous: bool) -> None:
    """Compare how a query is to run with how its checkpoint was made.

    Args:
        generation: The one to go on with.
        continuous: Whether the query is to be continuous.

    Raises:
        ExecutionChanged: Spark could not read the checkpoint.
    """
    note = generation.note
    if note is None or note.continuous is continuous:
        return
    words = {True: "a continuous query", False: "a query by batches"}
    place = generation.checkpoint.path
    name = pipeline_holding(place)
    raise ExecutionChanged(
        f"{place} is that of {words[note.continuous]}, and Spark cannot go on from it with "
        f"{words[continuous]}.",
        remedy=f"Go on as it was begun (`tidemill stream {name} --trigger continuous=1s`, or "
        f"without it), or move {place.parent.parent} away and start over: tidemill drop {name}",
        born=words[note.continuous],
        asked=words[continuous],
    )
