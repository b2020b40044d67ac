"""A generation past its limits is followed by one with short logs, once everything is published."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.histories.history_builder import rows
from tests.support.histories.left_behind import age
from tests.support.histories.rolled_history import RolledHistory
from tests.support.histories.spark_log_builder import write_commit
from tidemill.generations.rollover import SourceLogUncut, build_rollover
from tidemill.generations.verify import open_generation
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import (
    Takeover,
    current,
    has_rolled_over,
    lineage,
    put_takeover,
    read_takeovers,
)
from tidemill.ledger.past_batches import PastBatches
from tidemill.publish.delta.target import DeltaTarget
from tidemill.reporting.checkpoint_batches import read_checkpoint_batches
from tidemill.reporting.past_entries import read_entries
from tidemill.spark_logs.source_log import read_file_source_log
from tidemill.steps.upkeep.vacuum import vacuum
from tidemill.storage import documents

AFTER_BATCHES = "rollover: {{after_batches: {}}}"
FIRST, SECOND, THIRD = "live-0001", "live-0002", "live-0003"


def history_of(home: Path, batches: int = 3, **fields: str) -> RolledHistory:
    return RolledHistory(home, more=AFTER_BATCHES.format(batches), **fields)


def test_a_generation_goes_on_where_the_one_before_ends(tmp_path: Path) -> None:
    history = history_of(tmp_path)
    assert "rolled_over" not in history.go(1, 2).facts
    files = [path for batch in (0, 1) for path in history.files(batch)]
    assert history.go(3).facts["rolled_over"] == SECOND
    (takeover,) = read_takeovers(history.layout.home)
    assert (takeover.kind, takeover.predecessor, takeover.first) == ("rollover", FIRST, 3)
    # Published files stay where they are, and are named as before.
    assert all(file.is_file() for file in files)
    assert history.ids() == [1, 2, 3]
    generation = open_generation(history.pipeline)
    assert generation.log.files == ()
    assert (generation.name, generation.committed, generation.written) == (SECOND, 2, 2)
    assert [
        len(files) for files in read_file_source_log(history.checkpoint, "orders").values()
    ] == [
        0,
        0,
        1,
    ]
    history.go(4)
    assert history.ids() == [1, 2, 3, 4]
    assert [one.path.name[:4] for one in open_generation(history.pipeline).log.files] == ["part"]
    history.go(5, 6)
    assert lineage(history.layout, THIRD) == {THIRD: 6, SECOND: 3, FIRST: 0}
    history.go(7)
    assert history.ids() == [1, 2, 3, 4, 5, 6, 7]
    assert [batch.batch for batch in history.ledger.batches()] == [*range(7)]


def test_what_people_look_at_names_the_rollover(tmp_path: Path) -> None:
    history = history_of(tmp_path, 2)
    history.go(1, 2)
    history.go(3)
    standing = read_checkpoint_batches(history.layout, 5)
    assert (standing.generation, standing.goes_on_from, standing.first) == (SECOND, FIRST, 2)
    assert [one.batch for one in standing.batches] == [0, 1, 2]
    assert [one.kind for one in read_entries(history.layout) if one.what == "takeover"] == [
        "rollover"
    ]


@pytest.mark.parametrize(
    ("rollover", "rolled"),
    [
        ("{after_files: 4}", True),
        ("{after_files: 5}", False),
        ("{after_files: null, after_batches: 2}", True),
        ("{after_files: null, after_batches: null}", False),
    ],
)
def test_files_and_batches_are_counted(tmp_path: Path, rollover: str, rolled: bool) -> None:
    history = RolledHistory(tmp_path, more=f"rollover: {rollover}")
    for number in (1, 2):
        read = [history.arrive(f"{number}-{place}.csv") for place in (1, 2)]
        history.batch(rows(number), inputs=read)
    history.judge(history.seal().increment)
    history.publish()
    assert (current(history.layout) == SECOND) == rolled


def test_files_that_only_keep_spark_from_reading_again_are_not_counted(tmp_path: Path) -> None:
    history = RolledHistory(tmp_path, more="rollover: {after_files: 3}")
    history.go(1, 2, 3)
    assert current(history.layout) == SECOND
    probed(history)
    assert len(known_to_spark(history)) == 3
    history.go(4)
    assert current(history.layout) == SECOND
    history.go(5)
    assert current(history.layout) == THIRD


def test_a_last_batch_of_many_files_is_no_reason_by_itself(tmp_path: Path) -> None:
    history = RolledHistory(tmp_path, more="rollover: {after_files: 2}")
    history.batch(rows(1), inputs=[history.arrive(f"{place}.csv") for place in (1, 2, 3)])
    history.judge(history.seal().increment)
    history.publish()
    history.publish("idle")
    assert current(history.layout) == SECOND


def test_nothing_is_rolled_over_while_something_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = history_of(tmp_path, 1)
    history.increment(rows(1))
    held = history.increment(rows(2), outcome="held")
    history.publish()
    assert current(history.layout) == FIRST
    history.release(held)
    # A batch that no increment holds yet, one that Spark has planned, a target that lags.
    history.batch(rows(3))
    history.publish()
    assert current(history.layout) == FIRST
    history.judge(history.seal().increment)
    history.batch(rows(4), commit=False)
    history.publish()
    assert (current(history.layout), history.ids()) == (FIRST, [1, 2, 3])
    write_commit(history.checkpoint, 3)
    history.ledger.complete()
    history.judge(history.seal().increment)
    with monkeypatch.context() as patch:
        patch.setattr(DeltaTarget, "apply", _fail)
        with pytest.raises(OSError, match="gone"):
            history.publish()
    assert current(history.layout) == FIRST
    history.publish()
    assert (current(history.layout), history.ids()) == (SECOND, [1, 2, 3, 4])


def _fail(*_: object) -> None:
    raise OSError("the disk is gone")


def test_a_fork_after_a_rollover_has_both_behind_it(tmp_path: Path) -> None:
    history = history_of(tmp_path, 2)
    history.go(1, 2)
    assert has_rolled_over(history.layout, SECOND)
    put(history, generation=THIRD, kind="fork", predecessor=SECOND, first=2)
    assert has_rolled_over(history.layout, THIRD)
    assert lineage(history.layout, THIRD) == {THIRD: 2, SECOND: 2, FIRST: 0}


def put(history: RolledHistory, **fields: object) -> None:
    (takeover, *_) = read_takeovers(history.layout.home)
    put_takeover(history.layout, takeover.model_copy(update=fields))


def test_a_rollover_of_what_is_not_live_any_more_does_not_count(tmp_path: Path) -> None:
    history = history_of(tmp_path, 2)
    history.go(1, 2)
    put(history, generation=THIRD)
    assert current(history.layout) == SECOND
    assert [one.generation for one in read_takeovers(history.layout.home)] == [SECOND]


def test_what_a_killed_process_built_is_passed_over_and_vacuumed(tmp_path: Path) -> None:
    history = history_of(tmp_path, 2)
    # Killed before the takeover was written.
    history.go(1, 2)
    for _, takeover in documents.numbered(history.layout.generations):
        takeover.unlink()
    history.publish("again")
    assert (current(history.layout), history.ids()) == (THIRD, [1, 2])
    unborn = [
        history.layout.checkpoint(SECOND),
        history.layout.ledger(SECOND),
        history.layout.sink(SECOND),
        history.layout.note(SECOND),
    ]
    vacuum(history.run("young"))
    assert all(path.exists() for path in unborn)
    age(*unborn)
    vacuum(history.run("old"))
    assert not any(path.exists() for path in unborn)
    history.go(3)
    assert (current(history.layout), history.ids()) == (THIRD, [1, 2, 3])


def probed(history: RolledHistory) -> None:
    """What an ingest does before its query starts."""
    from tidemill.sources.kinds import open_source

    source = open_source(history.pipeline, "orders")
    with history.run("ingest").hold("ingest") as held:
        source.record_query(held, source.probe(history.ledger.past()))


def known_to_spark(history: RolledHistory) -> list[str]:
    from tidemill.spark_logs.source_log_cut import files_known

    known = files_known(history.checkpoint / "sources" / "orders")
    return sorted(path.name for path in known)


def test_spark_is_told_of_files_that_still_lie_there_or_come_back(tmp_path: Path) -> None:
    history = history_of(tmp_path, 3)
    away = tmp_path / "away"
    away.mkdir()
    history.go(1, 2)
    (history.inputs / "f0000.csv").rename(away / "f0000.csv")
    history.go(3)
    assert (current(history.layout), known_to_spark(history)) == (SECOND, ["f0002.csv"])
    probed(history)
    assert known_to_spark(history) == ["f0001.csv", "f0002.csv"]
    (away / "f0000.csv").rename(history.inputs / "f0000.csv")
    probed(history)
    assert known_to_spark(history) == ["f0000.csv", "f0001.csv", "f0002.csv"]
    probed(history)
    assert known_to_spark(history) == ["f0000.csv", "f0001.csv", "f0002.csv"]
    history.go(4)
    assert history.ids() == [1, 2, 3, 4]


def test_the_index_of_input_files_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemill.ledger.ledger.Ledger.settle.__defaults__", (2,))
    history = history_of(tmp_path, 5)
    history.go(1, 2, 3, 4, 5)
    assert current(history.layout) == SECOND
    past = history.ledger.past()
    assert isinstance(past, PastBatches)
    assert past.settled.last >= 3
    read = past.inputs.at("orders", str(history.inputs / "f0000.csv"))
    assert read is not None


def test_a_log_of_a_source_that_is_not_known_stays_whole(tmp_path: Path) -> None:
    history = history_of(tmp_path, 2)
    history.go(1)
    foreign = history.checkpoint / "sources" / "others"
    foreign.mkdir()
    (foreign / "0").write_text("v1")
    history.go(2)
    assert (current(history.layout), history.ids()) == (FIRST, [1, 2])
    with pytest.raises(SourceLogUncut) as refused:
        build_rollover(history.pipeline, open_generation(history.pipeline))
    assert refused.value.source == "others"
    shutil.rmtree(foreign)
    history.go(3)
    assert (current(history.layout), history.ids()) == (SECOND, [1, 2, 3])


def test_where_files_go_by_name_alone_their_log_stays_whole(tmp_path: Path) -> None:
    history = history_of(tmp_path, 3, source=", fileNameOnly: true")
    history.go(1, 2, 3)
    assert current(history.layout) == SECOND
    assert known_to_spark(history) == ["f0000.csv", "f0001.csv", "f0002.csv"]


def test_an_older_takeover_is_read(tmp_path: Path) -> None:
    history = history_of(tmp_path, 2)
    history.go(1, 2)
    (takeover,) = read_takeovers(history.layout.home)
    assert Takeover.parse(takeover.content()) == takeover
    assert Snapshot(history.layout).generation == SECOND
