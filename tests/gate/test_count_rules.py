"""What the counts alone say of an increment."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.support.batches import batch_of
from tidemill.gate.count_rules import reasons_from_counts
from tidemill.increments.increments import NetFile, Sealed
from tidemill.journal.recomputation import Recomputation
from tidemill.ledger.batch import Batch
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.spec.spec import Gate

NOW = datetime(2024, 1, 1, tzinfo=UTC)
GATE = Gate.model_validate({"rejected": {"hold_above": 0.1}})


def batch(number: int, offset: int, rows: int, rejected: int, rows_in: int | None) -> Batch:
    return batch_of(
        number,
        offsets={"orders": {"logOffset": offset}},
        rows_in=rows_in,
        rows=rows,
        rejected=rejected,
    )


def sealed(rows: int, rejected: int, *, merged: bool) -> Sealed:
    file = NetFile(path="p", size=1, rows=rows, uncompressed_bytes=1, sha256="0")
    return Sealed(
        increment=1,
        generation="live-0001",
        first=1,
        last=1,
        files=1,
        files_hash="hash",
        rows=rows,
        rejected=rejected,
        net=(file,) if merged else None,
        run_id="run",
        sealed=NOW,
    )


def reasons(
    rows: int,
    rejected: int,
    rows_in: int | None = None,
    *,
    merged: bool = False,
    new: bool = True,
    gate: Gate = GATE,
    kind: RecomputationKind | None = None,
) -> list[str]:
    """The reasons to hold an increment of one batch after another."""
    one = batch(1, int(new), rows, rejected, rows_in)
    before = [batch(0, 0, 1, 0, 1)]
    counted = sealed(rows, rejected, merged=merged)
    if kind is not None:
        counted = counted.model_copy(update={"recomputation": recomputed(kind)})
    return reasons_from_counts(gate, counted, [one], before)


def recomputed(kind: RecomputationKind) -> Recomputation:
    return Recomputation(
        kind=kind,
        generation="live-0001",
        first=0,
        last=1,
        seq=1,
        code_hash="code",
        spec_hash="spec",
        by="ada",
        reason="a better transform",
    )


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(
    ("rows", "rejected", "rows_in", "expected"),
    [
        (9, 1, 10, False),
        (89, 11, 100, True),
        # Many rows of few that were read do not hide a share of rejected ones.
        (100, 2, 10, True),
        # Few rows of many that were read do not raise it.
        (2, 9, 100, False),
        (2, 0, 0, True),
        (2, 5, 5, True),
        (0, 5, 5, True),
        (0, 0, 0, True),
        # A driver died before it had said how many it read, and some may wait in the state.
        (9, 1, None, False),
        (5, 1, None, True),
        (0, 5, None, True),
        (0, 0, None, False),
    ],
)
def test_rejected_rows_are_a_share_of_what_was_read(
    rows: int, rejected: int, rows_in: int | None, expected: bool, merged: bool
) -> None:
    assert bool(reasons(rows, rejected, rows_in, merged=merged)) is expected


@pytest.mark.parametrize("merged", [False, True])
def test_an_increment_of_which_the_transform_leaves_nothing_passes(merged: bool) -> None:
    assert not reasons(0, 0, 5, merged=merged)
    assert not reasons(0, 1, 50, merged=merged)


def test_hold_output_holds_an_increment_of_which_nothing_is_left() -> None:
    gate = Gate.model_validate({"empty": "hold_output"})
    assert reasons(0, 0, 5, gate=gate)
    assert not reasons(1, 0, 5, gate=gate)


def test_pass_lets_an_empty_delivery_through_and_keeps_the_share_of_rejected_rows() -> None:
    gate = Gate.model_validate({"empty": "pass", "rejected": {"hold_above": 0.1}})
    assert not reasons(0, 0, 0, gate=gate)
    assert reasons(0, 5, 5, gate=gate)
    assert not reasons(
        0, 5, 5, gate=Gate.model_validate({"empty": "pass", "rejected": {"hold_above": 1}})
    )


@pytest.mark.parametrize("kind", ["backfill", "rebuild"])
def test_what_would_only_remove_published_rows_is_held(kind: RecomputationKind) -> None:
    assert reasons(0, 0, kind=kind)
    assert reasons(0, 0, 0, new=False, kind=kind)
    assert not reasons(1, 0, kind=kind)
    assert not reasons(1, 0, 0, new=False, kind=kind)
    assert not reasons(0, 0, kind=kind, gate=Gate.model_validate({"empty": "pass"}))


def test_a_redo_of_unpublished_rows_may_leave_nothing() -> None:
    assert not reasons(0, 0, 5, kind="redo")


@pytest.mark.parametrize("merged", [False, True])
def test_no_input_is_no_empty_delivery(merged: bool) -> None:
    assert not reasons(0, 0, 0, merged=merged, new=False)


def test_the_first_batch_always_had_input() -> None:
    one = batch(0, 0, 0, 0, 0)
    assert reasons_from_counts(GATE, sealed(0, 0, merged=True), [one], [])


def test_a_topic_without_records_is_no_delivery() -> None:
    first = batch(0, 0, 0, 0, 0).model_copy(update={"offsets": {"orders": {"topic": {"0": 7}}}})
    assert not reasons_from_counts(GATE, sealed(0, 0, merged=False), [first], [])
