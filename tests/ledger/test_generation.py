"""A generation's parts belong together, or nothing starts: each way they may not, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.ledger.generation import open_generation
from tests.histories import History, rows


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "pipeline")


def test_a_healthy_generation_is_accepted(history: History) -> None:
    history.batch(rows(1))
    history.batch(rows(2))

    found = open_generation(history.pipeline)

    assert (found.committed, found.planned, found.unfinished) == (1, 1, False)
    assert found.note is not None
    assert found.note.query_id == found.checkpoint.query_id
    assert found.log.latest == found.ledger.latest() == 1
