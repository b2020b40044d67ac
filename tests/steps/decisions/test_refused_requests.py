"""A request that is refused names another one, which is not refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.generation_builder import reject_increment
from tests.support.histories.history_builder import History, rows
from tidemill.contract.errors import TidemillError
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.generations.verify import open_generation
from tidemill.ledger.run_request import RunRequest
from tidemill.steps.decisions.check_request import asked

DAYS = {"start": datetime(2024, 1, 1, tzinfo=UTC), "end": datetime(2024, 1, 2, tzinfo=UTC)}


@dataclass
class Case:
    """A request in a state.

    Args:
        refused: The request that is refused.
        instead: The request that the message names, or the same one after `first`.
        state: Brings the state about.
        first: What the message says to do before.
        totals: Whether the pipeline counts what nothing ever closes.
    """

    refused: dict[str, Any]
    instead: dict[str, Any]
    state: Callable[[History], object] = lambda history: history.increment(rows(1), outcome="held")
    first: Callable[[History], object] = lambda _: None
    totals: bool = False


def published(history: History) -> None:
    history.increment(rows(1))
    history.publish()


def passed_over(history: History) -> None:
    reject_increment(history, 1)
    history.publish()


CASES = {
    "NothingPublished": Case(
        {"role": "backfill", **DAYS},
        {"role": "backfill", **DAYS},
        lambda history: history.increment(rows(1)),
        lambda history: history.publish(),
    ),
    "IntervalMissing": Case({"role": "backfill"}, {"role": "backfill", **DAYS}, published),
    "NotComputable": Case(
        {"role": "backfill", **DAYS}, {"role": "rebuild"}, published, totals=True
    ),
    "NothingToRedo": Case({"role": "redo"}, {"role": "backfill", **DAYS}, published),
    "IncrementMissing": Case({"role": "release"}, {"role": "release", "increment": 1}),
    "NotHeld": Case(
        {"role": "release", "increment": 1},
        {"role": "backfill", **DAYS},
        lambda history: history.increment(rows(1)),
        lambda history: history.publish(),
    ),
    "NotRejected": Case(
        {"role": "reinstate", "increment": 1},
        {"role": "reinstate", "increment": 1},
        first=passed_over,
    ),
    "NotRejectable": Case(
        {"role": "reject", "increment": 1}, {"role": "release", "increment": 1}, totals=True
    ),
    "NotRead": Case(
        {"role": "redo", "exclude": ("nowhere.csv",)}, {"role": "redo", "exclude": ("f0000.csv",)}
    ),
    "PartitionUnknown": Case(
        {"role": "backfill", "partitions": ({"year": "2024"},)},
        {"role": "backfill", "partitions": ({"day": "2024-01-01"},)},
        published,
    ),
    "ReasonMissing": Case(
        {"role": "release", "increment": 1, "reason": ""}, {"role": "release", "increment": 1}
    ),
}


@pytest.mark.remedy(*CASES)
@pytest.mark.parametrize("code", CASES)
def test_what_the_message_names_instead_is_not_refused(tmp_path: Path, code: str) -> None:
    case = CASES[code]
    kind = PipelineClass.UNBOUNDED if case.totals else PipelineClass.MAP
    history = History(tmp_path, pipeline_class=kind)
    case.state(history)

    with pytest.raises(TidemillError) as refused:
        ask(history, case.refused)

    assert refused.value.code == code
    case.first(history)
    assert ask(history, case.instead) is Outcome.DONE


def ask(history: History, given: dict[str, Any]) -> Outcome:
    request = RunRequest(**{"by": "ada", "reason": "the gauge was off", **given})
    return asked(history.run(), request, open_generation(history.pipeline)).outcome
