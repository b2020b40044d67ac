"""What past batches read is found again, whole and as it was, or refused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_log_builder import write_commit
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.engine.recompute.published_input import Inputs, NotReplayable, inputs_of, reads_of
from tidemill.engine.sources.input_gone import InputGone
from tidemill.increments.exclusions import Excluded
from tidemill.journal.takeovers import Takeover, put_takeover
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.static_pins import StaticPin

NOTHING = Excluded()
SIZES = (10, 200, 3_000)


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Three batches of one file each, the sizes of which tell them apart."""
    history = History(tmp_path)
    for number, size in enumerate(SIZES):
        history.batch(rows(number), inputs=[history.arrive(f"{number}.csv", "x" * size)])
    return history


def inputs(history: History, first: int = 0, last: int = 2, without: Excluded = NOTHING) -> Inputs:
    reads = reads_of(history.layout, FIRST_GENERATION, first, last, without)
    return inputs_of(history.pipeline, reads)


def names(found: Inputs) -> list[str]:
    return [at.name for at, _ in found.places.get("orders", ())]


def test_a_range_of_batches_has_the_files_of_those_and_no_other(history: History) -> None:
    found = inputs(history, 1, 2)
    assert names(found) == ["1.csv", "2.csv"]
    assert [read.batch.batch for read in found.reads] == [1, 2]
    assert (found.count, found.bytes) == (2, 3_200)


def test_an_excluded_file_is_left_out_and_its_batch_is_not_whole(history: History) -> None:
    (batch,) = history.ledger.batches(1, 1)
    found = inputs(history, without=Excluded(frozenset(batch.inputs)))
    assert names(found) == ["0.csv", "2.csv"]
    assert [read.whole for read in found.reads] == [True, False, True]


def test_rows_are_known_only_if_each_batch_that_counts_knows_its_own(history: History) -> None:
    assert inputs(history).rows is None
    later = [history.arrive(f"{number}.csv", "x") for number in (3, 4)]
    for number, file in enumerate(later, 3):
        history.batch(rows(number), inputs=[file], commit=False)
        write_commit(history.checkpoint, number)
    history.ledger.complete({3: 30, 4: 400})
    assert inputs(history, 3, 4).rows == 430
    (batch,) = history.ledger.batches(3, 3)
    # Nothing is left of the batch, so it adds nothing; the others still know.
    assert inputs(history, 3, 4, Excluded(frozenset(batch.inputs))).rows == 400


def test_a_fork_reads_its_first_batches_in_the_ledger_of_its_predecessor(history: History) -> None:
    put_takeover(
        history.layout,
        Takeover(
            generation="live-0002",
            kind="fork",
            predecessor=FIRST_GENERATION,
            first=2,
            by="ann",
            reason="the third file was wrong",
            born=datetime.now(UTC),
        ),
    )
    fork = Ledger(history.layout, "live-0002")
    own = history.layout.ledger("live-0002")
    own.mkdir()
    (live,) = history.ledger.batches(2, 2)
    mine = live.model_copy(update={"generation": "live-0002", "inputs": ()})
    (own / "000002.json").write_text(mine.model_dump_json())
    found = inputs_of(history.pipeline, reads_of(history.layout, "live-0002", 0, 2, NOTHING))
    assert [read.ledger.generation for read in found.reads] == [
        FIRST_GENERATION,
        FIRST_GENERATION,
        fork.generation,
    ]
    assert names(found) == ["0.csv", "1.csv"]


def test_all_files_that_are_gone_or_were_written_anew_are_named(history: History) -> None:
    (history.inputs / "0.csv").unlink()
    (history.inputs / "2.csv").write_text("another")
    with pytest.raises(InputGone) as caught:
        inputs(history)
    assert [Path(name).name for name in caught.value.data["files"]] == ["0.csv", "2.csv"]
    assert caught.value.data["source"] == "orders"


def test_a_file_that_changes_while_it_is_read_again_is_noticed(history: History) -> None:
    found = inputs(history)
    found.prove()
    (history.inputs / "1.csv").write_text("another")
    with pytest.raises(InputGone) as caught:
        found.prove()
    assert [Path(name).name for name in caught.value.data["files"]] == ["1.csv"]


def test_a_source_that_gives_nothing_twice_is_refused_only_if_a_batch_read_it(
    history: History,
) -> None:
    reads = reads_of(history.layout, FIRST_GENERATION, 0, 2, NOTHING)
    history.project.spec("orders").write_text(
        "sources:\n"
        "  orders: {kind: python, data_source: 'log:Log', schema: 'id long, at timestamp'}\n"
        "event_time: {column: at}\n"
        "output: {partition_by: {day: to_date(at)}}\n"
    )
    with pytest.raises(NotReplayable) as caught:
        inputs_of(history.pipeline, reads)
    assert caught.value.data["source"] == "orders"
    assert inputs_of(history.pipeline, ()).count == 0


def test_batches_of_the_same_static_input_are_read_together(history: History) -> None:
    found = inputs(history)
    old, new = (StaticPin(kind="file", identity=one, files=()) for one in ("old", "new"))
    pins = (old, new, old)
    for read, pin in zip(found.reads, pins, strict=True):
        read.batch.static["prices"] = pin
    parts = [(known, names(part)) for known, part in found.by_pins(["prices"])]
    assert parts == [({"prices": old}, ["0.csv", "2.csv"]), ({"prices": new}, ["1.csv"])]
    # A static input that the spec no longer has parts nothing.
    assert [(known, names(part)) for known, part in found.by_pins([])] == [
        ({}, ["0.csv", "1.csv", "2.csv"])
    ]
