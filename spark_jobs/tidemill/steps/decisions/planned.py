"""The plan of a decision: what would be done if a person asked for it now."""

from collections.abc import Iterator

from tidemill.contract.counted import counted
from tidemill.generations.verify import open_generation
from tidemill.increments.increment import Increment
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.check_request import asked
from tidemill.steps.parts.unpublished import unpublished
from tidemill.storage.run_context import RunContext

# Under which nothing is ever written.
RUN_ID = "tidemill --dry-run"


def planned(pipeline: Pipeline, request: RunRequest) -> list[str]:
    """What a release, rejection, reinstatement or redo would do, as phrases; nothing is written.

    Raises:
        Refused: it cannot be done, as its run would say.
        UsageError: the request is not complete.
    """
    run = RunContext(pipeline, RUN_ID, lambda _: None)
    generation = open_generation(pipeline)
    asked(run, request, generation)
    snapshot = Snapshot(pipeline.layout)
    if request.role == "redo":
        return [*_redo(snapshot, request, generation.ledger.latest())]
    increment = snapshot.get(request.increment or 0)
    which, covers = f"increment {increment.number:06d}", increment.sealed.covers
    input_of = f"the input of {which} (batches {covers.first} to {covers.last})"
    if request.role == "release":
        return [f"publish {which}, {counted(increment.sealed.rows, 'row')}, despite its verdict"]
    if request.role == "reinstate":
        return [f"compute {input_of} again", "add its rows to what is published"]
    if not increment.sealed.in_order:
        return [f"drop {which}; published rows stay as they are"]
    return [f"leave out {input_of}", *_behind(unpublished(snapshot), increment.number)]


def _behind(tail: list[Increment], number: int) -> Iterator[str]:
    later = [one for one in tail if one.number > number]
    if later:
        yield f"let {counted(len(later), 'increment')} behind it go out in turn"


def _redo(snapshot: Snapshot, request: RunRequest, latest: int) -> Iterator[str]:
    tail = unpublished(snapshot)
    for one in tail:
        covers = one.sealed.covers
        yield f"compute increment {one.number:06d} (batches {covers.first} to {covers.last}) again"
    sealed = snapshot.last_sealed(snapshot.generation)
    if latest > sealed:
        yield f"compute batches {sealed + 1} to {latest} again, which no gate has judged"
    for file in request.exclude:
        yield f"leave out {file}"
