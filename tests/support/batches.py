"""Batches of a ledger, of which a test says only what it is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.batch import Batch


def batch_of(number: int, **given: Any) -> Batch:
    """A batch without input and rows, but for what is given.

    Args:
        given: Fields of the batch.
    """
    fields: dict[str, Any] = {
        "generation": FIRST_GENERATION,
        "offsets": {},
        "inputs": (),
        "outputs": (),
        "rows_in": None,
        "rows": 0,
        "rejected": 0,
        "watermark_before_ms": 0,
        "watermark_after_ms": 0,
        "start": 1,
        "run_id": "run",
        "spec_hash": "spec",
        "code_hash": "code",
        "committed": datetime(2026, 3, 1, tzinfo=UTC),
    }
    return Batch(batch=number, **{**fields, **given})
