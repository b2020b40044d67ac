"""Partitions that a person asks for, where no Spark is needed to know what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.histories.history_builder import History, reject
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.recompute.intervals import Extent
from tidemill.engine.recompute.requested_partitions import (
    NothingRejected,
    PartitionUntimed,
    extent_of_partitions,
    resolve_partitions,
)
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.run_request import RunRequest

# It is asked only for the times of partitions.
NO_SESSION: Any = None
REJECTED = RunRequest(role="backfill", rejected=True)


def test_a_table_without_partitions_is_taken_whole(make_history: Callable[..., History]) -> None:
    history = make_history(partitions={})
    found = extent_of_partitions(NO_SESSION, history.pipeline, [{}])
    assert found.partitions.everything
    assert (found.start, found.end) == (None, None)


@pytest.fixture
def windowed(make_history: Callable[..., History]) -> History:
    history = make_history(pipeline_class=PipelineClass.WINDOW)
    history.increment([], [reject("a")])
    return history


def test_a_partition_that_is_no_time_is_named_by_its_value(history: History) -> None:
    found = extent_of_partitions(NO_SESSION, history.pipeline, [{"day": "tuesday"}, {"day": "mon"}])
    assert found == Extent(Partitions(columns=("day",), values=(("mon",), ("tuesday",))))


def test_with_state_a_partition_that_is_no_time_is_refused(windowed: History) -> None:
    history = windowed
    with pytest.raises(PartitionUntimed) as caught:
        extent_of_partitions(
            NO_SESSION, history.pipeline, [{"day": "2024-01-01"}, {"day": "monday"}]
        )
    assert caught.value.data["value"] == "monday"


def test_without_rejected_rows_there_is_nothing_to_compute_again(history: History) -> None:
    with pytest.raises(NothingRejected) as caught:
        resolve_partitions(NO_SESSION, history.pipeline, REJECTED)
    assert caught.value.data["pipeline"] == "orders"


def test_rejected_rows_count_only_with_every_value_of_their_partition(history: History) -> None:
    history.increment([], [reject("no partition at all")])
    history.publish()
    with pytest.raises(NothingRejected):
        resolve_partitions(NO_SESSION, history.pipeline, REJECTED)


def test_the_partitions_of_rejected_rows_are_what_is_asked_for(history: History) -> None:
    history.increment([], [reject("a", day="on a monday")])
    history.publish()
    found = resolve_partitions(NO_SESSION, history.pipeline, REJECTED)
    assert found.partitions.values == (("on a monday",),)
