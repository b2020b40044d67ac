"""What ledger and doctor make of manifests: each mismatch would lose rows or double them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.history_builder import reject
from tests.support.histories.net_history_builder import NetHistory, count, hour
from tests.support.histories.open_generation import LAST, open_, remove
from tests.support.histories.spark_log_builder import (
    write_commit,
    write_metadata,
    write_named_offsets,
)
from tidemill.file_formats.parquet import MissingDataFile
from tidemill.generations.verify import CheckpointLost, GenerationUnbound, LedgerAhead, SinkLost
from tidemill.generations.verify_spec import OutputModeChanged
from tidemill.ledger.manifests import (
    ManifestForeign,
    ManifestMissing,
    read_attempts,
    read_manifest,
)
from tidemill.reporting.file_origin import UnknownFile, origins
from tidemill.storage.documents import TornDocument


@pytest.fixture
def run(tmp_path: Path) -> NetHistory:
    """A generation of three batches."""
    history = NetHistory(tmp_path / "pipeline")
    for number in range(LAST + 1):
        history.batch([count("open", number, 1)], [reject(str(number))])
    return history


def test_the_ledger_has_what_manifests_name(run: NetHistory) -> None:
    batch = run.ledger.batches()[1]

    manifest = read_manifest(run.sink, 1)
    assert manifest is not None
    assert {file.path for file in batch.outputs} == {
        f"batch=1/{manifest.attempt}/{file.path}" for file in manifest.files
    }
    assert (batch.rows, batch.rejected) == (1, 1)
    assert [file.rejected for file in batch.outputs] == [False, True]
    assert batch.offsets == manifest.offsets


def test_rows_that_the_writer_counted_are_in_the_ledger(run: NetHistory) -> None:
    run.rows_in = 77
    run.batch([count("open", 9, 1)])
    assert run.ledger.batches()[-1].rows_in == 77


def test_a_generation_whose_parts_agree(run: NetHistory) -> None:
    generation = open_(run)
    assert (generation.planned, generation.written, generation.committed) == (2, 2, 2)


def test_an_attempt_without_a_manifest_is_nowhere(run: NetHistory) -> None:
    run.attempt(1, [count("open", 1, 99)])
    run.attempt(LAST + 1, [count("open", 1, 99)])

    assert open_(run).written == LAST
    assert read_attempts(run.sink).latest == LAST


def test_a_file_is_told_from_what_an_attempt_left(run: NetHistory) -> None:
    left = run.attempt(LAST + 1, [count("open", 1, 99)])
    run.batch([count("open", 5, 1)], commit=False)
    found = {}
    for path in (run.sink / f"batch={LAST + 1}").glob("attempt-*/*/*.parquet"):
        with pytest.raises(UnknownFile) as unknown:
            origins(run.root, str(path))
        found[path.parent.parent.name == left] = unknown.value.uncommitted
    assert found == {True: True, False: False}


def test_a_batch_that_is_written_and_not_committed_is_no_reason_to_refuse(run: NetHistory) -> None:
    run.batch([count("open", 5, 1)], commit=False)
    generation = open_(run)
    assert (generation.planned, generation.written, generation.committed) == (3, 3, 2)
    assert generation.unfinished

    write_commit(run.checkpoint, 3)
    (batch,) = run.ledger.complete()
    assert batch.batch == 3


def test_a_checkpoint_that_is_lost(run: NetHistory) -> None:
    remove(run.checkpoint)
    with pytest.raises(CheckpointLost) as refused:
        open_(run)
    assert (refused.value.planned, refused.value.written) == (-1, LAST)


def test_a_checkpoint_that_was_lost_and_has_planned_as_much_anew(run: NetHistory) -> None:
    remove(run.checkpoint)
    write_metadata(run.checkpoint)
    for number in range(LAST + 1):
        write_named_offsets(run.checkpoint, number, orders=number + 10)
        write_commit(run.checkpoint, number)
    with pytest.raises(ManifestForeign) as refused:
        open_(run)
    assert refused.value.batch == LAST
    assert refused.value.planned == {"orders": {"logOffset": LAST + 10}}


def test_a_checkpoint_that_was_set_back_by_its_last_batch(run: NetHistory) -> None:
    remove(run.checkpoint / "commits" / str(LAST))
    with pytest.raises(LedgerAhead):
        open_(run)


def test_a_manifest_in_between_that_is_missing(run: NetHistory) -> None:
    run.manifest(1).unlink()
    with pytest.raises(ManifestMissing) as refused:
        open_(run)
    assert refused.value.batch == 1


def test_the_first_manifest_may_be_missing(run: NetHistory) -> None:
    # As after superseded batches were cleared away, which the ledger has long written down.
    run.manifest(0).unlink()
    assert open_(run).written == LAST


def test_the_last_manifest_that_is_missing(run: NetHistory) -> None:
    run.manifest(LAST).unlink()
    with pytest.raises(SinkLost) as refused:
        open_(run)
    assert (refused.value.committed, refused.value.written) == (LAST, LAST - 1)


def test_a_sink_that_is_gone(run: NetHistory) -> None:
    remove(run.sink)
    with pytest.raises(SinkLost):
        open_(run)


@pytest.mark.parametrize("content", ["", '{"batch": 2', "{}"])
def test_a_torn_manifest(run: NetHistory, content: str) -> None:
    run.manifest(LAST).write_text(content)
    with pytest.raises(TornDocument) as refused:
        open_(run)
    assert refused.value.path == run.manifest(LAST)


def test_a_torn_manifest_of_a_batch_that_the_ledger_lacks(run: NetHistory) -> None:
    run.batch([count("open", 5, 1)], commit=False)
    run.batch([count("open", 6, 1)], commit=False)
    write_commit(run.checkpoint, 3)
    write_commit(run.checkpoint, 4)
    run.manifest(3).write_text("{}")
    with pytest.raises(TornDocument):
        run.ledger.complete()


def test_a_file_that_a_manifest_names_and_is_gone(run: NetHistory) -> None:
    run.batch([count("open", 5, 1)], commit=False)
    write_commit(run.checkpoint, 3)
    (file,) = read_attempts(run.sink).files_of(3)
    file.path.unlink()
    with pytest.raises(MissingDataFile) as refused:
        run.ledger.complete()
    assert refused.value.file == file.path


def test_a_note_that_is_gone_beside_manifests_alone(run: NetHistory) -> None:
    remove(run.layout.note("live-0001"), run.checkpoint, run.layout.home / "ledger")
    with pytest.raises(GenerationUnbound):
        open_(run)


@pytest.mark.parametrize(
    ("change", "today"),
    [
        (", mode: complete", ("attempts", "complete", ())),
        (", keys: [id]", ("files", "append", ())),
        (", mode: update, keys: [action]", ("attempts", "update", ("action",))),
    ],
)
def test_mode_and_keys_stay_as_they_were(
    run: NetHistory, change: str, today: tuple[object, ...]
) -> None:
    run.output = change
    run.write_spec()
    with pytest.raises(OutputModeChanged) as refused:
        open_(run)
    assert refused.value.born == ("attempts", "update", ("action", "hour"))
    assert refused.value.today == today


def test_a_pipeline_that_appends_may_not_begin_to_update(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline", mode="append")
    history.start()
    history.output = ", mode: update, keys: [action]"
    history.write_spec()
    with pytest.raises(OutputModeChanged):
        open_(history)


def test_what_is_published_is_that_of_valid_attempts(run: NetHistory) -> None:
    run.attempt(1, [count("open", 1, 99)])
    run.seal()
    run.judge(1)
    run.publish()
    assert run.table() == [("open", hour(number), 1) for number in range(LAST + 1)]
