"""What a scratch generation is called, and which of its files are data."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.spark_batch_builder import write_files
from tidemill.engine.recompute.scratch_generation import files_in, scratch
from tidemill.journal.recomputation import BatchRange, Recomputation

BACKFILL = Recomputation(
    kind="backfill",
    generation="live-0001",
    first=0,
    last=7,
    seq=3,
    code_hash="code",
    spec_hash="spec",
    by="ann",
    reason="the rule was wrong",
)
PLACE = BatchRange(generation="backfill-3f2a9c01", first=7, last=7)


def test_its_one_batch_has_the_number_of_the_last_that_it_stands_for() -> None:
    place, other = scratch(BACKFILL), scratch(BACKFILL)
    assert place.generation.startswith("backfill-")
    assert place.generation != other.generation
    assert (place.first, place.last) == (7, 7)


def test_files_are_told_with_their_rows_and_without_what_spark_keeps_for_itself(
    history: History,
) -> None:
    sink = history.layout.sink(PLACE.generation)
    good, rejected = rows(1, 2), [reject("a")]
    written = write_files(sink, 7, history.columns, history.partitions, good, rejected)
    for leftover in (
        sink / "_SUCCESS",
        sink / "_temporary" / "0" / written[0].name,
        written[0].with_name(f".{written[0].name}.crc"),
    ):
        leftover.parent.mkdir(parents=True, exist_ok=True)
        leftover.write_bytes(b"")
    found = {
        sink / file.path: (file.rows, file.rejected) for file in files_in(history.pipeline, PLACE)
    }
    assert found == {written[0]: (2, False), written[1]: (1, True)}


def test_the_engines_own_partition_begins_with_an_underscore_and_holds_data(
    make_history: Callable[..., History],
) -> None:
    history = make_history(partitions={})
    sink = history.layout.sink(PLACE.generation)
    good, rejected = rows(1, 2), [reject("a")]
    write_files(sink, 7, history.columns, history.partitions, good, rejected)
    found = [(file.rows, file.rejected) for file in files_in(history.pipeline, PLACE)]
    assert found == [(2, False), (1, True)]
