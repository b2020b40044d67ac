"""What the counts alone say of an increment."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tidemill.contract.pipeline_class import PipelineClass
from tidemill.gate.count_rules import reasons_from_counts
from tidemill.increments.increments import NetFile, Sealed
from tidemill.ledger.batch import Batch
from tidemill.spec.spec import Gate

NOW = datetime(2024, 1, 1, tzinfo=UTC)
GATE = Gate.model_validate({"rejected": {"hold_above": 0.1}})


def batch(number: int, offset: int, rows: int, rejected: int, rows_in: int | None) -> Batch:
    return Batch(
        generation="live-0001",
        batch=number,
        offsets={"orders": {"logOffset": offset}},
        inputs=(),
        outputs=(),
        rows_in=rows_in,
        rows=rows,
        rejected=rejected,
        watermark_before_ms=0,
        watermark_after_ms=0,
        start=1,
        run_id="run",
        spec_hash="spec",
        code_hash="code",
        committed=NOW,
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


def held(
    rows: int,
    rejected: int,
    rows_in: int | None = None,
    *,
    merged: bool = False,
    new: bool = True,
    kind: PipelineClass = PipelineClass.MAP,
) -> bool:
    """Whether an increment of one batch after another is held."""
    one = batch(1, int(new), rows, rejected, rows_in)
    before = [batch(0, 0, 1, 0, 1)]
    counted = sealed(rows, rejected, merged=merged)
    return bool(reasons_from_counts(GATE, counted, [one], before, kind))


@pytest.mark.parametrize(
    ("rows", "rejected", "expected"),
    [(0, 0, True), (0, 5, True), (9, 1, False), (89, 11, True), (1, 0, False)],
)
def test_appended_rows(rows: int, rejected: int, expected: bool) -> None:
    assert held(rows, rejected) is expected


@pytest.mark.parametrize(
    ("rows", "rejected", "rows_in", "expected"),
    [
        (2, 9, 100, False),
        (2, 11, 100, True),
        (2, 0, 0, True),
        (2, 5, 5, True),
        (0, 0, 5, True),
        (0, 1, 50, True),
        (5, 1, None, True),
        (50, 1, None, False),
    ],
)
def test_merged_rows_are_few_and_rejected_ones_a_share_of_what_was_read(
    rows: int, rejected: int, rows_in: int | None, expected: bool
) -> None:
    assert held(rows, rejected, rows_in, merged=True) is expected


@pytest.mark.parametrize(
    ("rows", "rejected", "rows_in", "expected"),
    [
        (0, 0, 5, False),
        (0, 0, 0, True),
        (0, 5, 5, True),
        # A driver died before it had said how many it read, and some may wait.
        (0, 0, None, False),
        (9, 1, None, False),
        (0, 5, None, True),
    ],
)
def test_rows_may_wait_in_windows(
    rows: int, rejected: int, rows_in: int | None, expected: bool
) -> None:
    assert held(rows, rejected, rows_in, kind=PipelineClass.WINDOW) is expected


@pytest.mark.parametrize("merged", [False, True])
def test_no_input_is_no_empty_delivery(merged: bool) -> None:
    assert not held(0, 0, 0, merged=merged, new=False)


def test_the_first_batch_always_had_input() -> None:
    one = batch(0, 0, 0, 0, 0)
    assert reasons_from_counts(GATE, sealed(0, 0, merged=True), [one], [])


def test_a_topic_without_records_is_no_delivery() -> None:
    first = batch(0, 0, 0, 0, 0).model_copy(update={"offsets": {"orders": {"topic": {"0": 7}}}})
    assert not reasons_from_counts(GATE, sealed(0, 0, merged=False), [first], [])
    # What a transform drops was delivered.
    dropped = first.model_copy(update={"rows_in": 3})
    assert reasons_from_counts(GATE, sealed(0, 0, merged=False), [dropped], [])
