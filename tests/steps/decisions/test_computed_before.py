"""A backfill that would change nothing is skipped by its doctor, without Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.generation_builder import days, made_again, reject_increment
from tests.support.histories.history_builder import History, rows
from tests.support.sample_rows import reject
from tidemill.contract.report import Outcome
from tidemill.generations.verify import open_generation
from tidemill.ledger.generation_note import hash_of_file, hash_of_spec
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_request import RunRequest
from tidemill.steps.decisions.check_request import asked
from tidemill.steps.decisions.computed_before import sealed_before
from tidemill.steps.parts.run import Ended


@pytest.fixture
def history(tmp_path: Path) -> History:
    """One day, 1 January 2024, is published."""
    history = History(tmp_path, rows_per_row="at_most_one")
    history.write_spec(partition_by='{"day": "to_date(at)"}')
    transform = history.pipeline.transform_file
    transform.parent.mkdir(parents=True, exist_ok=True)
    transform.write_text("def transform(orders): return orders\n")
    history.increment(rows(1, 2))
    history.publish()
    tell_rows_read(history, 2)
    return history


def tell_rows_read(history: History, count: int | None) -> None:
    """Have the last batch say how many rows it has read."""
    ledger: Ledger = history.ledger
    path = ledger.folder / f"{ledger.latest():06d}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "rows_in": count}))


def computed(history: History, *values: str, **changes: Any) -> int:
    """A backfill of some days that is published."""
    hashes = {
        "code_hash": hash_of_file(history.pipeline.transform_file),
        "spec_hash": hash_of_spec(history.pipeline.spec),
    }
    given = {**hashes, "partitions": days(*values), **changes}
    number = made_again(history, rows(1, 2), run_id="before", **given)
    history.publish("before")
    return number


def doctor(history: History, day: int, *, hours: tuple[int, int] = (0, 24), **more: Any) -> Ended:
    """What the doctor says of a backfill of some hours of a day in January 2024."""
    first, last = hours
    request = RunRequest(
        role="backfill",
        start=datetime(2024, 1, day, first, tzinfo=UTC),
        end=datetime(2024, 1, day + last // 24, last % 24, tzinfo=UTC),
        by="ada",
        **more,
    )
    return asked(history.run(), request, open_generation(history.pipeline))


def test_a_published_day_is_computed_once_by_the_same_code(history: History) -> None:
    assert doctor(history, 1).outcome is Outcome.DONE
    number = computed(history, "2024-01-01")
    skipped = doctor(history, 1)
    assert skipped.outcome is Outcome.SKIPPED
    assert f"{number:06d}" in skipped.reason
    # A run every quarter of an hour is of the same day.
    assert doctor(history, 1, hours=(13, 14)).outcome is Outcome.SKIPPED


def test_a_day_of_a_wider_backfill_is_computed_already(history: History) -> None:
    computed(history, "2024-01-01", "2024-01-02")
    assert doctor(history, 2).outcome is Outcome.SKIPPED


def test_what_is_on_its_way_holds_the_day_until_a_person_rejects_it(history: History) -> None:
    number = made_again(history, rows(1, 2), partitions=days("2024-01-01"))
    again = history.snapshot.get(number).sealed.recomputation
    assert again is not None
    assert sealed_before(history.snapshot, again) == number
    reject_increment(history, number)
    assert sealed_before(history.snapshot, again) is None


def test_a_dry_run_of_what_was_computed_says_so_in_numbers(history: History) -> None:
    computed(history, "2024-01-01")
    assert doctor(history, 1, dry_run=True).outcome is Outcome.DONE


def test_mended_code_computes_it_once_more(history: History) -> None:
    computed(history, "2024-01-01")
    history.pipeline.transform_file.write_text("def transform(orders): return orders.limit(1)\n")
    assert doctor(history, 1).outcome is Outcome.DONE


def test_rows_that_were_published_since_compute_it_once_more(history: History) -> None:
    computed(history, "2024-01-01")
    history.increment(rows(3))
    history.publish()
    assert doctor(history, 1).outcome is Outcome.DONE


def test_a_day_of_which_nothing_was_read_is_skipped(history: History) -> None:
    skipped = doctor(history, 9)
    assert skipped.outcome is Outcome.SKIPPED
    assert "nothing" in skipped.reason
    assert doctor(history, 9, dry_run=True).outcome is Outcome.SKIPPED


def test_rows_that_the_transform_left_out_may_belong_to_any_day(history: History) -> None:
    tell_rows_read(history, 3)
    assert doctor(history, 9).outcome is Outcome.DONE


def test_rows_of_which_nobody_knows_how_many_were_read_may_belong_to_any_day(
    history: History,
) -> None:
    tell_rows_read(history, None)
    assert doctor(history, 9).outcome is Outcome.DONE


@pytest.mark.parametrize(
    ("place", "outcome"),
    [
        ({}, Outcome.DONE),
        ({"day": "2024-01-09"}, Outcome.DONE),
        ({"day": "2024-01-01"}, Outcome.SKIPPED),
    ],
)
def test_a_rejected_row_belongs_where_it_says_or_to_any_day(
    history: History, place: dict[str, str], outcome: Outcome
) -> None:
    history.increment(rows(3), [reject("{", **place)])
    history.publish()
    tell_rows_read(history, 2)
    assert doctor(history, 9).outcome is outcome
