"""Files in a sink's folder that nothing names are counted, and no others."""

from __future__ import annotations

from pathlib import Path

from tests.support.histories.history_builder import History
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.orphans import Orphans, read_orphans


def orphans(history: History) -> Orphans | None:
    return read_orphans(history.layout, FIRST_GENERATION)


def leave(folder: Path, name: str) -> None:
    (folder / "day=2026-03-01").mkdir(parents=True, exist_ok=True)
    (folder / "day=2026-03-01" / name).write_bytes(b"PAR1")


def test_what_the_log_names_is_no_orphan(run: History) -> None:
    assert orphans(run) == Orphans(files=0, bytes=0)


def test_what_the_log_does_not_name_is_counted_without_its_checksum(run: History) -> None:
    leave(run.sink, "part-00000-dead.snappy.parquet")
    leave(run.sink, ".part-00000-dead.snappy.parquet.crc")
    assert orphans(run) == Orphans(files=1, bytes=4)


def test_of_an_unfinished_batch_nobody_can_tell(run: History) -> None:
    leave(run.sink, "part-00000-dead.snappy.parquet")
    (run.checkpoint / "commits" / "2").unlink()
    assert orphans(run) is None


def test_a_pipeline_that_never_ran_has_none(history: History) -> None:
    assert orphans(history) == Orphans(files=0, bytes=0)
