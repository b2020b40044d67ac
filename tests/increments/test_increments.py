"""Increments: sealed once and never cut again; verdicts are numbered, decisions are final."""

from __future__ import annotations

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import UsageError
from tidemill.increments.increments import State, hash_of_files
from tidemill.ledger.ledger import Batch
from tidemill.ledger.run_increment import read_run_increment, remember
from tidemill.storage.documents import AlreadyWritten, TornDocument


@pytest.fixture
def sealed(history: History) -> History:
    history.batch(rows(1), [reject("a")])
    history.batch(rows(2))
    history.seal("run")
    return history


def test_a_seal_holds_everything_that_was_committed_and_not_yet_sealed(sealed: History) -> None:
    first = sealed.snapshot.get(1).sealed
    assert (first.first, first.last, first.rows, first.rejected, first.files) == (0, 1, 2, 1, 3)
    assert first.files_hash == hash_of_files(sealed.ledger.batches())
    sealed.batch(rows(3))
    second = sealed.seal()
    assert (second.increment, second.first, second.last) == (2, 2, 2)


def test_a_seal_is_never_cut_again(sealed: History) -> None:
    first = sealed.snapshot.get(1).sealed
    sealed.batch(rows(3))
    wider = first.model_copy(update={"last": 2, "rows": 3})
    with pytest.raises(AlreadyWritten):
        sealed.increments.seal(wider)
    assert sealed.snapshot.get(1).sealed == first


def test_the_last_sealed_batch_is_that_of_its_generation(sealed: History) -> None:
    assert sealed.snapshot.last_sealed("live-0001") == 1
    assert sealed.snapshot.last_sealed("live-0002") == -1


def test_states(sealed: History) -> None:
    def state() -> tuple[State, bool]:
        increment = sealed.snapshot.get(1)
        return increment.state, increment.may_go_out

    assert state() == (State.SEALED, False)
    sealed.judge(1, "held")
    assert state() == (State.HELD, False)
    sealed.judge(1, "passed")
    assert state() == (State.PASSED, True)
    sealed.judge(1, "held")
    assert state() == (State.HELD, False)
    sealed.release(1)
    assert state() == (State.RELEASED, True)
    sealed.judge(1, "held")
    assert state() == (State.RELEASED, True)


def test_verdicts_are_numbered_and_the_last_one_counts(sealed: History) -> None:
    verdict = None
    for number in range(1, 12):
        sealed.judge(1, "held" if number % 2 else "passed")
        found = sealed.snapshot.get(1)
        assert len(found.verdicts) == number
        verdict = found.verdict
    assert verdict is not None
    assert verdict.outcome == "held"
    names = sorted(path.name for path in (sealed.layout.increments / "000001").glob("0*.json"))
    assert names == [f"{number:03d}.json" for number in range(1, 12)]


def test_two_judges_at_once_both_leave_their_verdict(sealed: History) -> None:
    sealed.judge(1, "held")
    verdict = sealed.snapshot.get(1).verdict
    assert verdict is not None
    assert [sealed.increments.judge(verdict) for _ in range(2)] == [2, 3]


def test_a_decision_is_final(sealed: History) -> None:
    sealed.judge(1, "held")
    sealed.release(1, by="ann")
    release = sealed.snapshot.get(1).release
    assert release is not None
    with pytest.raises(AlreadyWritten):
        sealed.increments.decide(release.model_copy(update={"by": "bob"}))
    assert sealed.snapshot.get(1).release == release


def test_an_increment_that_does_not_exist(history: History) -> None:
    assert history.snapshot.increments == []
    with pytest.raises(UsageError) as refused:
        history.snapshot.get(7)
    assert refused.value.increment == 7


def test_a_folder_without_a_seal_is_no_increment(sealed: History) -> None:
    (sealed.layout.increments / "000002").mkdir()
    (sealed.layout.increments / "notes").mkdir()
    assert sealed.increments.numbers() == [1]


def test_a_torn_seal_is_refused_and_not_overlooked(sealed: History) -> None:
    (sealed.layout.increments / "000001" / "sealed.json").write_text("{")
    with pytest.raises(TornDocument):
        sealed.snapshot.get(1)


def test_increments_come_in_order_of_their_numbers(sealed: History) -> None:
    first = sealed.snapshot.get(1).sealed
    for number in (10, 2, 9):
        sealed.increments.seal(first.model_copy(update={"increment": number}))
    assert sealed.increments.numbers() == [1, 2, 9, 10]


def batch(history: History) -> Batch:
    return history.ledger.batches()[0]


@pytest.mark.parametrize("change", [{"path": "other"}, {"size": 1}, {"rows": 7}])
def test_the_hash_is_of_every_files_path_size_and_rows(
    sealed: History, change: dict[str, object]
) -> None:
    before = batch(sealed)
    changed = before.outputs[0].model_copy(update=change)
    after = before.model_copy(update={"outputs": (changed, *before.outputs[1:])})
    assert hash_of_files([after]) != hash_of_files([before])


def test_the_hash_knows_no_order_of_files_and_batches(sealed: History) -> None:
    one, two = sealed.ledger.batches()
    shuffled = one.model_copy(update={"outputs": one.outputs[::-1]})
    assert hash_of_files([two, shuffled]) == hash_of_files([one, two])


def test_a_run_remembers_the_first_increment_it_sealed(history: History) -> None:
    folder = history.layout.run("r")
    assert read_run_increment(folder) is None
    remember(folder, 3)
    remember(folder, 4)
    assert read_run_increment(folder) == 3


def test_the_verdict_of_a_judge_who_lost_the_lease_does_not_count(sealed: History) -> None:
    for epoch, outcome in ((1, "passed"), (3, "held"), (2, "passed")):
        with_epoch = {"outcome": outcome, "epoch": epoch}
        sealed.judge(1)
        verdict = sealed.snapshot.get(1).verdicts[-1]
        sealed.increments.judge(verdict.model_copy(update=with_epoch))
    assert sealed.snapshot.get(1).state is State.HELD
