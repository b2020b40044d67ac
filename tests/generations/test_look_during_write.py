"""The doctor looks without a lease, so another run's commit is not a reason to refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_log_builder import write_commit, write_metadata
from tidemill.generations import verify as module
from tidemill.generations.verify import CheckpointForeign, open_generation


@pytest.fixture
def run(history: History) -> History:
    history.batch(rows(0))
    return history


def before(
    monkeypatch: pytest.MonkeyPatch, reader: str, *happenings: Callable[[], object]
) -> list[str]:
    """Let something happen just before each of the first reads of a part; what was read so far."""
    real = getattr(module, reader)
    coming = list(happenings)
    reads = []

    def meanwhile(*arguments: object) -> object:
        reads.append(reader)
        if coming:
            coming.pop(0)()
        return real(*arguments)

    monkeypatch.setattr(module, reader, meanwhile)
    return reads


@pytest.mark.parametrize("reader", ["read_note", "read_checkpoint", "read_committed", "_verify"])
def test_batches_that_are_committed_during_the_look(
    run: History, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    before(monkeypatch, reader, lambda: run.batch(rows(1)), lambda: run.batch(rows(2)))
    assert open_generation(run.pipeline).committed in (1, 2)


@pytest.mark.parametrize("reader", ["read_note", "read_checkpoint", "read_committed", "_verify"])
def test_a_batch_that_is_planned_and_written_during_the_look(
    run: History, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    before(monkeypatch, reader, lambda: run.batch(rows(1), commit=False))
    assert open_generation(run.pipeline).committed == 0


@pytest.mark.parametrize("reader", ["read_note", "read_checkpoint", "read_committed", "_verify"])
def test_a_generation_that_is_born_during_the_look(
    history: History, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    before(monkeypatch, reader, history.start)
    assert open_generation(history.pipeline).committed == -1


def test_a_planned_batch_that_is_committed_and_written_down_during_the_look(
    run: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = run.batch(rows(1), commit=False)

    def commit() -> None:
        write_commit(run.checkpoint, number)
        run.ledger.complete()

    before(monkeypatch, "read_committed", commit)
    assert open_generation(run.pipeline).committed == number


def test_a_mismatch_is_refused_once_nothing_moves(
    run: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        run.batch(rows(1))
        (run.checkpoint / "metadata").unlink()
        write_metadata(run.checkpoint, "another")

    reads = before(monkeypatch, "read_committed", swap)
    with pytest.raises(CheckpointForeign) as refused:
        open_generation(run.pipeline)
    assert refused.value.found == "another"
    assert len(reads) == 2


def test_a_mismatch_where_nothing_moves_is_looked_at_once(
    run: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_metadata(run.checkpoint, "another")
    reads = before(monkeypatch, "read_committed")
    with pytest.raises(CheckpointForeign):
        open_generation(run.pipeline)
    assert len(reads) == 1
