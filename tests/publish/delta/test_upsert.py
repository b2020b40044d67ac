"""Mode `update`: each increment replaces the rows of its keys, in one commit, once and in order."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.histories.history_builder import reject
from tests.support.histories.net_history_builder import NetHistory, count, hour
from tidemill.contract.errors import LeaseLost
from tidemill.contract.report import Outcome
from tidemill.journal.journal import Event
from tidemill.publish.audit import BooksDisagree
from tidemill.publish.delta.target import DeltaTarget
from tidemill.publish.net_payload import AttemptChanged

BY_DAY = {"day": pa.date32()}


@pytest.fixture
def history(tmp_path: Path) -> NetHistory:
    return NetHistory(tmp_path / "pipeline")


def last_event(history: NetHistory) -> Event:
    return history.journal.events()[-1]


def test_a_row_replaces_the_one_of_its_keys(history: NetHistory) -> None:
    history.increment([count("open", 1, 3), count("close", 1, 1)])
    history.publish()
    history.increment([count("open", 1, 4), count("open", 2, 1)])
    history.publish()

    assert history.table() == [
        ("close", hour(1), 1),
        ("open", hour(1), 4),
        ("open", hour(2), 1),
    ]


def test_of_several_batches_the_last_row_of_each_key_goes_out(history: NetHistory) -> None:
    history.batch([count("open", 1, 1), count("close", 1, 1)])
    history.batch([count("open", 1, 2)])
    history.batch([])
    history.batch([count("open", 1, 5), count("open", 2, 1)])
    sealed = history.seal()
    history.judge(1)
    history.publish()

    assert (sealed.first, sealed.last, sealed.rows, sealed.files) == (0, 3, 3, 1)
    assert history.table() == [
        ("close", hour(1), 1),
        ("open", hour(1), 5),
        ("open", hour(2), 1),
    ]


def test_the_table_holds_files_of_its_own_and_no_attempt(history: NetHistory) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()

    (name,) = DeltaTable(history.layout.table).file_uris()
    assert Path(name).parent == history.layout.table


def test_files_without_replaced_rows_stay_as_they_are(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline", partitions=BY_DAY, keys=("action", "hour", "day"))
    days = [date(2024, 1, 1), date(2024, 1, 2)]
    history.increment([count("open", 1, 1, day=day) for day in days])
    history.publish()
    before = set(DeltaTable(history.layout.table).file_uris())

    history.increment([count("open", 1, 2, day=days[1])])
    history.publish()

    after = set(DeltaTable(history.layout.table).file_uris())
    assert len(before & after) == 1
    assert history.table() == [
        ("open", hour(1), 1, days[0]),
        ("open", hour(1), 2, days[1]),
    ]


def test_partitions_with_signs_in_their_names_are_rewritten_too(tmp_path: Path) -> None:
    signs = ["United Kingdom", "a%20b", "x/y:z", "100 %", "é=#?", 'q"[]*']
    history = NetHistory(
        tmp_path / "pipeline", partitions={"place": pa.string()}, keys=("action", "hour", "place")
    )
    for number in (1, 2, 3):
        history.increment([count("open", 1, number, place=place) for place in signs])
        history.publish()

    assert history.table() == sorted(("open", hour(1), 3, place) for place in signs)
    assert len(DeltaTable(history.layout.table).file_uris()) == len(signs)


def test_more_partitions_than_may_be_open_are_written_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.publish.delta.rewrite.OPEN_FILES", 3)
    history = NetHistory(
        tmp_path / "pipeline", partitions={"n": pa.int32()}, keys=("action", "hour", "n")
    )
    for number in (1, 2):
        history.increment([count("open", 1, number, n=n) for n in range(8)])
        history.publish()

    assert history.table() == sorted(("open", hour(1), 2, n) for n in range(8))


def test_publishing_again_changes_nothing(history: NetHistory) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()
    event = last_event(history)
    target = DeltaTarget(history.layout, epoch=99)

    assert target.find(event) == 0
    assert target.apply(event, history.payload(event)) == 0
    assert history.log() == ["00000000000000000000.json"]


def test_an_older_epoch_writes_nothing(history: NetHistory) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()
    history.increment([count("open", 1, 2)])
    passed = history.snapshot.get(2).sealed
    event = last_event(history).model_copy(
        update={
            "seq": 2,
            "increment": 2,
            "first": passed.first,
            "last": passed.last,
            "files_hash": passed.files_hash,
        }
    )

    with pytest.raises(LeaseLost):
        DeltaTarget(history.layout, epoch=0).apply(event, history.payload(event))
    assert history.table() == [("open", hour(1), 1)]


def test_what_somebody_else_did_to_the_files_is_started_from_anew(
    history: NetHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()
    history.increment([count("close", 1, 1)])
    history.publish()
    history.increment([count("open", 1, 2)])
    tries: list[int] = []

    class Interfered(DeltaTarget):
        def _commit(self, table: DeltaTable | None, *arguments: object) -> None:
            tries.append(len(tries))
            if len(tries) == 1:
                DeltaTable(history.layout.table).optimize.compact()
            super()._commit(table, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("tidemill.publish.registry.DeltaTarget", Interfered)
    monkeypatch.setattr("tidemill.publish.delta.commit.WAIT_SECONDS", 0.001)
    history.publish()

    assert tries == [0, 1]
    assert history.table() == [("close", hour(1), 1), ("open", hour(1), 2)]


def test_a_held_increment_goes_out_before_later_ones_which_still_win(history: NetHistory) -> None:
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    history.increment([count("open", 1, 2), count("close", 1, 9)], outcome="held")
    history.increment([count("open", 1, 3)])
    history.publish()
    assert history.table() == [("close", hour(1), 1), ("open", hour(1), 1)]

    history.release(2)
    history.publish()

    assert history.table() == [("close", hour(1), 9), ("open", hour(1), 3)]
    assert [event.increment for event in history.journal.events()] == [1, 2, 3]


def test_rejected_rows_of_all_batches_are_kept(history: NetHistory) -> None:
    history.batch([count("open", 1, 1)], [reject("a")])
    history.batch([count("open", 1, 2)], [reject("b"), reject("c")])
    sealed = history.seal()
    history.judge(1)
    history.publish()

    assert (sealed.rows, sealed.rejected) == (1, 3)
    assert history.records() == ["a", "b", "c"]


def test_a_payload_that_is_not_the_judged_one_is_not_published(history: NetHistory) -> None:
    history.increment([count("open", 1, 1)])
    (file,) = history.snapshot.get(1).sealed.net or ()
    path = history.increments.folder_of(1) / file.path
    table = pq.read_table(path)
    forged = table.set_column(2, "count", pa.array([2], pa.int64()))
    pq.write_table(forged, path)
    assert path.stat().st_size == file.size

    report = history.publish()

    assert report.error is not None
    assert (report.error["code"], report.error["data"]["unit"]) == ("BooksDisagree", "content")
    assert history.table() == []


def test_a_payload_that_is_gone_is_not_published(history: NetHistory) -> None:
    history.increment([count("open", 1, 1)])
    (file,) = history.snapshot.get(1).sealed.net or ()
    (history.increments.folder_of(1) / file.path).unlink()

    report = history.publish()

    assert report.error is not None
    assert report.error["code"] == BooksDisagree.__name__
    assert report.error["data"]["missing"] == [file.path]


def test_a_file_that_changed_since_its_commit_is_not_sealed(history: NetHistory) -> None:
    history.batch([count("open", 1, 1)])
    (path,) = history.files(0)
    pq.write_table(pa.concat_tables([pq.read_table(path)] * 2), path)

    with pytest.raises(AttemptChanged) as refused:
        history.seal()
    assert refused.value.path == path
    assert history.increments.numbers() == []


def test_a_mode_that_the_spec_says_too_late_changes_nothing(history: NetHistory) -> None:
    history.batch([count("open", 1, 1)])
    history.output = ""
    history.write_spec()
    history.seal()
    history.judge(1)
    history.publish()

    assert history.table() == [("open", hour(1), 1)]


def test_superseded_attempts_need_not_be_there_any_more(history: NetHistory) -> None:
    history.increment([count("open", 1, 1)])
    for path in history.files(0):
        path.unlink()
    history.publish()

    assert history.table() == [("open", hour(1), 1)]


def test_what_an_unnamed_seal_left_is_not_read(history: NetHistory) -> None:
    leftover = history.increments.folder_of(1) / "payload-000001-dead" / "part-00000.parquet"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"cut off")
    history.increment([count("open", 1, 1)])
    history.publish()

    assert history.table() == [("open", hour(1), 1)]


def test_a_batch_for_which_nothing_came_passes_and_publishes_no_row(history: NetHistory) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()
    history.batch([], inputs=[])

    assert history.gate().outcome is Outcome.DONE
    assert history.publish().outcome is Outcome.DONE
    assert history.table() == [("open", hour(1), 1)]
    assert history.delta().transaction_version("orders/live-0001") == 1

    history.increment([count("open", 1, 2)])
    history.publish()
    assert history.table() == [("open", hour(1), 2)]


@pytest.mark.parametrize(
    ("rows_in", "rejected", "outcome"),
    [
        (0, 0, Outcome.HELD),
        (3, 0, Outcome.DONE),
        (3, 3, Outcome.HELD),
        (9, 2, Outcome.HELD),
    ],
)
def test_input_that_changes_nothing_passes_unless_it_is_empty_or_rejected(
    history: NetHistory, rows_in: int, rejected: int, outcome: Outcome
) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()
    history.rows_in = rows_in
    history.batch([], [reject(str(number)) for number in range(rejected)])

    assert history.gate().outcome is outcome


def test_a_column_that_comes_later_is_null_in_older_rows(history: NetHistory) -> None:
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    history.publish()
    history.start(history.columns.append(pa.field("note", pa.string())))
    history.increment([count("open", 1, 2, note="new")])
    history.publish()

    assert history.table() == [("close", hour(1), 1, None), ("open", hour(1), 2, "new")]


Batches = list[list[tuple[str, int, int]]]


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    increments=st.lists(
        st.lists(
            st.lists(
                st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 99)),
                max_size=6,
                unique_by=lambda row: row[:2],
            ),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_table_is_what_was_last_said_of_each_key(
    tmp_path_factory: pytest.TempPathFactory, increments: list[Batches]
) -> None:
    history = NetHistory(tmp_path_factory.mktemp("pipeline") / "pipeline")
    said: dict[tuple[str, int], int] = {}
    for number, batches in enumerate(increments, 1):
        for batch in batches:
            history.batch([count(*row) for row in batch])
            said |= {(action, at): value for action, at, value in batch}
        history.seal()
        history.judge(number)
        history.publish()
        expected = [(action, hour(at), value) for (action, at), value in said.items()]
        assert history.table() == sorted(expected, key=str)
