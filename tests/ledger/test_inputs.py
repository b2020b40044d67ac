"""What lies in the source's directory against what was read of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.ledger.inputs import scan
from tests.histories import History, rows


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "pipeline")


def test_a_file_that_no_batch_read_is_new(history: History) -> None:
    history.batch(rows(1))
    arrived = history.arrive("late.csv", "id,at\n2,\n")

    found = scan(history.pipeline.spec.source, history.ledger.batches())

    assert [file.path for file in found.new] == [arrived]
    assert found.backlog_bytes == arrived.stat().st_size
    assert (found.changed, found.too_old) == ((), ())
