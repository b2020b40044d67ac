"""The time of a batch that was taken in before its pipeline asked for one."""

from collections.abc import Iterable, Mapping

from tidemill.ledger.ledger import Ledger
from tidemill.ledger.start_list import StartUnknown
from tidemill.ledger.static_pins import BATCH, BatchTime, StaticPin, pin_batch


def with_batch_time(
    pins: Mapping[str, StaticPin], names: Iterable[str], ledger: Ledger, batch: int
) -> dict[str, StaticPin]:
    """A batch's pins with those of the kind `batch`, by the start that planned it.

    Args:
        pins: What is recorded; a pin of the kind stays as it is.
        names: The static inputs of the kind `batch`.
        ledger: The ledger of the generation that ran the batch.

    Raises:
        StartUnknown: no start is recorded that could have planned it.
    """
    missing = [n for n in names if n not in pins or pins[n].kind != BATCH]
    if not missing:
        return dict(pins)
    planner = ledger.planner_of(batch)
    if planner is None:
        raise StartUnknown.of(ledger.start_folder, batch)
    pin = pin_batch(BatchTime(at=planner.at, run_id=planner.run_id))
    return {**pins, **dict.fromkeys(missing, pin)}
