"""Whether note, checkpoint, sink and ledger belong together; each mismatch loses rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.histories.history_builder import NAME, History, rows
from tests.support.histories.open_generation import LAST, open_, remove
from tests.support.histories.spark_log_builder import (
    write_commit,
    write_metadata,
    write_named_offsets,
)
from tests.support.remedies import carry_out
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.generations.verify import (
    CheckpointForeign,
    CheckpointLost,
    CommitsLost,
    GenerationUnbound,
    LedgerAhead,
    SinkElsewhere,
    SinkLost,
    open_generation,
)
from tidemill.generations.verify_spec import IntervalsChanged
from tidemill.ledger.ledger import LedgerGap
from tidemill.spark_logs.checkpoint import CheckpointWithoutMetadata
from tidemill.spark_logs.compactible_log import GapInSinkLog
from tidemill.spark_logs.metadata_log import TornLogEntry
from tidemill.spark_logs.sink_log import SinkMoved


def entries(folder: Path, *batches: int) -> list[Path]:
    """Entries of one of Spark's logs, with their checksums where there are any."""
    found = [folder / str(batch) for batch in batches]
    return found + [path for batch in batches if (path := folder / f".{batch}.crc").exists()]


def test_a_pipeline_that_never_ran_has_nothing(history: History) -> None:
    generation = open_(history)
    assert generation.note is None
    assert (generation.planned, generation.committed, generation.unfinished) == (-1, -1, False)


def test_a_generation_whose_parts_agree(run: History) -> None:
    generation = open_(run)
    assert generation.note is not None
    assert (generation.planned, generation.committed, generation.unfinished) == (2, 2, False)
    assert generation.ledger.latest() == LAST


def test_a_first_start_that_died_at_once_may_be_tried_again(history: History) -> None:
    history.start()
    assert not open_(history).unfinished
    remove(history.checkpoint)
    assert open_(history).note is not None


@pytest.mark.parametrize("written", [False, True], ids=["K5", "K7"])
def test_a_batch_without_its_commit_is_unfinished_and_no_reason_to_refuse(
    run: History, written: bool
) -> None:
    run.batch(rows(3), commit=False)
    if not written:
        remove(*entries(run.sink / "_spark_metadata", 3))
    generation = open_(run)
    assert (generation.planned, generation.committed, generation.unfinished) == (3, 2, True)


def test_a_batch_that_the_ledger_lacks_is_no_reason_to_refuse(run: History) -> None:
    run.batch(rows(3), commit=False)
    write_commit(run.checkpoint, 3)
    generation = open_(run)
    assert (generation.committed, generation.ledger.latest()) == (3, 2)


def test_row_3_a_checkpoint_of_another_query(run: History) -> None:
    remove(run.checkpoint / "metadata")
    write_metadata(run.checkpoint, "another")
    with pytest.raises(CheckpointForeign) as refused:
        open_(run)
    assert (refused.value.expected, refused.value.found) == ("86022cb6", "another")


def test_row_4_a_lost_checkpoint_beside_its_sink(run: History) -> None:
    remove(run.checkpoint)
    with pytest.raises(CheckpointLost) as refused:
        open_(run)
    assert (refused.value.planned, refused.value.written) == (-1, LAST)


def test_row_4_a_new_checkpoint_beside_an_old_sink(run: History) -> None:
    remove(run.checkpoint)
    write_metadata(run.checkpoint, "86022cb6")
    with pytest.raises(CheckpointLost):
        open_(run)


def test_row_4_a_checkpoint_of_an_older_backup(run: History) -> None:
    # With a ledger of the same backup, only the sink knows better.
    for folder in ("offsets", "commits"):
        remove(*entries(run.checkpoint / folder, 1, 2))
    remove(*(run.layout.ledger("live-0001") / f"{batch:06d}.json" for batch in (1, 2)))
    with pytest.raises(CheckpointLost) as refused:
        open_(run)
    assert (refused.value.planned, refused.value.written) == (0, LAST)


def test_row_4_a_lost_plan_of_a_batch_that_is_written(run: History) -> None:
    # Spark would plan it again, with whatever has arrived, and the sink would skip it.
    run.batch(rows(3), commit=False)
    remove(*entries(run.checkpoint / "offsets", 3))
    with pytest.raises(CheckpointLost) as refused:
        open_(run)
    assert (refused.value.planned, refused.value.written) == (2, 3)


def test_a_lost_plan_of_a_batch_that_is_committed(run: History) -> None:
    remove(*entries(run.checkpoint / "offsets", 2))
    with pytest.raises(CheckpointLost) as refused:
        open_(run)
    assert (refused.value.planned, refused.value.committed) == (1, 2)


def test_a_plan_after_a_batch_that_was_never_committed(run: History) -> None:
    # Spark runs only the last planned batch again: the ledger would never hear of the other.
    write_named_offsets(run.checkpoint, 3, orders=2)
    write_named_offsets(run.checkpoint, 4, orders=2)
    with pytest.raises(CommitsLost) as refused:
        open_(run)
    assert (refused.value.batch, refused.value.planned) == (3, 4)


def test_a_checkpoint_that_was_set_back_with_its_sink(run: History) -> None:
    for folder in (
        run.checkpoint / "offsets",
        run.checkpoint / "commits",
        run.sink / "_spark_metadata",
    ):
        remove(*entries(folder, 2))
    with pytest.raises(LedgerAhead) as refused:
        open_(run)
    assert (refused.value.committed, refused.value.ledger) == (1, 2)


def test_checkpoint_and_sink_gone_and_the_ledger_left(run: History) -> None:
    remove(run.checkpoint, run.sink)
    with pytest.raises(LedgerAhead) as refused:
        open_(run)
    assert (refused.value.committed, refused.value.ledger) == (-1, LAST)


def test_row_5_a_deleted_sink(run: History) -> None:
    remove(run.sink)
    with pytest.raises(SinkLost) as refused:
        open_(run)
    assert (refused.value.committed, refused.value.written) == (LAST, -1)


def test_row_5_a_sink_whose_last_entry_is_gone(run: History) -> None:
    remove(*entries(run.sink / "_spark_metadata", 2))
    with pytest.raises(SinkLost) as refused:
        open_(run)
    assert (refused.value.committed, refused.value.written) == (2, 1)


def test_row_6_a_root_that_was_moved(run: History) -> None:
    moved = run.root.rename(run.home / "moved")
    elsewhere = replace(run.pipeline, layout=Layout(moved, NAME))
    with pytest.raises(SinkElsewhere) as refused:
        open_generation(elsewhere)
    assert (refused.value.born, refused.value.now) == (run.sink, elsewhere.layout.sink("live-0001"))


def test_row_7_a_sink_whose_log_names_another_place(run: History) -> None:
    entry = run.sink / "_spark_metadata" / "2"
    entry.write_text(entry.read_text().replace(str(run.root), "/other"))
    with pytest.raises(SinkMoved):
        open_(run)


@pytest.mark.parametrize("folder", ["offsets", "commits"])
@pytest.mark.parametrize("batch", [1, 2])
def test_row_11_a_torn_entry_of_the_checkpoint(run: History, folder: str, batch: int) -> None:
    (run.checkpoint / folder / str(batch)).write_bytes(b"")
    with pytest.raises(TornLogEntry):
        open_(run)


def test_row_12_a_torn_entry_of_the_sink(run: History) -> None:
    (run.sink / "_spark_metadata" / "1").write_bytes(b"")
    with pytest.raises(TornLogEntry):
        open_(run)


def test_row_13_a_hole_in_the_sinks_log(run: History) -> None:
    remove(*entries(run.sink / "_spark_metadata", 1))
    with pytest.raises(GapInSinkLog):
        open_(run)


def test_row_14_a_checkpoint_without_its_id(run: History) -> None:
    remove(run.checkpoint / "metadata")
    with pytest.raises(CheckpointWithoutMetadata):
        open_(run)


@pytest.mark.parametrize("batch", [0, 1])
def test_a_hole_in_the_ledger_is_refused_wherever_batches_are_read(
    run: History, batch: int
) -> None:
    remove(run.layout.ledger("live-0001") / f"{batch:06d}.json")
    with pytest.raises(LedgerGap) as refused:
        run.ledger.batches()
    assert refused.value.batch == batch


def test_every_refusal_is_one_that_no_retry_can_mend() -> None:
    for error in (
        CheckpointForeign,
        CheckpointLost,
        CommitsLost,
        GenerationUnbound,
        IntervalsChanged,
        LedgerAhead,
        LedgerGap,
        SinkElsewhere,
        SinkLost,
    ):
        assert issubclass(error, Refused)


@pytest.mark.remedy("CheckpointForeign", "GenerationUnbound")
@pytest.mark.parametrize("refusal", [CheckpointForeign, GenerationUnbound])
def test_what_no_repair_brings_back_names_the_rebuild(
    history: History, refusal: type[Refused]
) -> None:
    history.increment(rows(1))
    history.publish()
    if refusal is GenerationUnbound:
        history.layout.note("live-0001").unlink()
    else:
        (history.checkpoint / "metadata").unlink()
        write_metadata(history.checkpoint, "another")
    with pytest.raises(refusal) as refused:
        open_generation(history.pipeline)
    carry_out(history, refused.value.remedy, "rebuild")
