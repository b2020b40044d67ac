"""The generation's note: what it binds, and what of the spec it pins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.histories.history_builder import History
from tests.support.histories.open_generation import LAST, open_, remove
from tidemill.generations.verify import GenerationUnbound
from tidemill.generations.verify_spec import IntervalsChanged

UNBOUND: dict[str, Callable[[History], list[Path]]] = {
    "all else is there": lambda _: [],
    "only the sink": lambda run: [run.checkpoint, run.layout.home / "ledger"],
    "only the checkpoint": lambda run: [run.sink, run.layout.home / "ledger"],
    # A new generation would number its batches from 0, and the ledger would take them for old.
    "only the ledger": lambda run: [run.checkpoint, run.sink],
}


@pytest.mark.parametrize("gone", UNBOUND.values(), ids=UNBOUND)
def test_whatever_is_there_without_the_note_is_unbound(
    run: History, gone: Callable[[History], list[Path]]
) -> None:
    note = run.layout.note("live-0001")
    remove(note, *gone(run))
    with pytest.raises(GenerationUnbound) as refused:
        open_(run)
    assert refused.value.note == note


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("partition_by", {"partition_by": '{"day": "to_date(other)"}'}),
        ("partition_by", {"partition_by": '{"hour": "expr(day)"}'}),
        ("partition_by", {"partition_by": "{}"}),
        ("timezone", {"more": "timezone: Europe/London"}),
    ],
)
def test_changed_intervals_are_refused(run: History, field: str, change: dict[str, str]) -> None:
    run.write_spec(**change)
    with pytest.raises(IntervalsChanged) as refused:
        open_(run)
    assert refused.value.born != refused.value.today
    run.write_spec()
    assert open_(run).committed == LAST


def test_another_order_of_partitions_is_refused(tmp_path: Path) -> None:
    run = History(tmp_path / "two", partitions={"day": pa.date32(), "k": pa.string()})
    run.start()
    run.write_spec(partition_by='{"k": "expr(k)", "day": "expr(day)"}')
    with pytest.raises(IntervalsChanged):
        open_(run)


def test_other_changes_of_the_spec_are_welcome(run: History) -> None:
    run.write_spec(more="description: new\nrow_rules: {id: id > 0}")
    assert open_(run).committed == LAST
