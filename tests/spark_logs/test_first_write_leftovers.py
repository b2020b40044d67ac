"""What a driver leaves that died in its very first write, and when it may be deleted.

`test_against_spark` shows that these files, and no others, brick a checkpoint.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.spark_log_builder import (
    write_commit,
    write_metadata,
    write_offsets,
    write_sink_entry,
)
from tidemill.spark_logs.checkpoint import first_write_leftovers
from tidemill.spark_logs.sink_log import read_sink_log

UUID = "3d6f7a52-8d0c-4b0f-9a77-0a3b1f6f2f11"
LEFTOVERS = [f".0.{UUID}.tmp", f"..0.{UUID}.tmp.crc", f".0.{UUID}.TID20.tmp", ".0.crc"]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint"
    write_metadata(path)
    plant(path, *(f"offsets/{name}" for name in LEFTOVERS))
    return path


def plant(directory: Path, *names: str) -> None:
    for name in names:
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("v1\n{")


def leftovers(checkpoint: Path) -> set[str]:
    log = read_sink_log(checkpoint.with_name("sink"))
    return {str(file.relative_to(checkpoint)) for file in first_write_leftovers(checkpoint, log)}


def test_the_files_of_the_first_write_are_named(checkpoint: Path) -> None:
    assert leftovers(checkpoint) == {f"offsets/{name}" for name in LEFTOVERS}


def test_files_that_do_not_matter_to_spark_stay(checkpoint: Path) -> None:
    plant(checkpoint, "sources/0/0", f"sources/0/.1.{UUID}.tmp", f".metadata.{UUID}.tmp")
    (checkpoint / "commits").mkdir()
    (checkpoint / "state").mkdir()
    assert leftovers(checkpoint) == {f"offsets/{name}" for name in LEFTOVERS}


def test_a_new_checkpoint_has_none(tmp_path: Path) -> None:
    assert leftovers(tmp_path / "checkpoint") == set()


def test_once_batch_0_was_planned_nothing_is_left_over(checkpoint: Path) -> None:
    write_offsets(checkpoint, 0, 0)
    assert leftovers(checkpoint) == set()


def test_once_offsets_have_expired_nothing_is_left_over(checkpoint: Path) -> None:
    write_offsets(checkpoint, 101, 101)
    assert leftovers(checkpoint) == set()


def test_once_a_batch_was_committed_nothing_is_left_over(checkpoint: Path) -> None:
    write_commit(checkpoint, 0)
    assert leftovers(checkpoint) == set()


def test_once_the_sink_has_a_batch_nothing_is_left_over(checkpoint: Path) -> None:
    write_sink_entry(checkpoint.with_name("sink"), 0, [])
    assert leftovers(checkpoint) == set()


@pytest.mark.parametrize(
    "stranger",
    [
        f"offsets/.1.{UUID}.tmp",
        "offsets/.1.crc",
        "offsets/_SUCCESS",
        f"commits/.0.{UUID}.tmp",
        "state/0/0/1.delta",
    ],
)
def test_beside_anything_else_nothing_is_a_mere_leftover(checkpoint: Path, stranger: str) -> None:
    plant(checkpoint, stranger)
    assert leftovers(checkpoint) == set()
