"""A query that failed over its state is told apart from one that failed over its rows."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History
from tidemill.contract.errors import TidemillError
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.engine.spark_errors import QueryFailed
from tidemill.engine.state_damage import StateDamaged, explain_state

LOADING = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"


def state_file(history: History, name: str) -> Path:
    """A file of the state, with the checksum that Hadoop leaves beside it."""
    path = history.checkpoint / "state" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"what Spark wrote")
    checksum = struct.pack(">I", zlib.crc32(path.read_bytes()))
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(">i", 512) + checksum)
    return path


def explained(history: History, condition: str, what: str = "It failed.") -> TidemillError:
    failure = QueryFailed(what, remedy="Look at it.", condition=condition)
    return explain_state(history.pipeline, FIRST_GENERATION, failure)


@pytest.mark.parametrize("condition", [LOADING, "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"])
def test_damaged_files_are_named_where_spark_could_not_load_them(
    history: History, condition: str
) -> None:
    whole, damaged, gone = (state_file(history, f"0/0/{n}.delta") for n in (1, 2, 3))
    damaged.write_bytes(b"what nobody wrote")
    gone.unlink()
    found = explained(history, condition)
    assert isinstance(found, StateDamaged)
    assert set(found.data["files"]) == {damaged, gone}
    assert whole not in found.data["files"]
    assert found.data["condition"] == condition


def test_a_failure_of_another_kind_stays_as_it_is_unless_the_description_is_damaged(
    history: History,
) -> None:
    state_file(history, "0/0/1.delta").write_bytes(b"damaged, and not looked at")
    described = state_file(history, "0/_metadata/metadata")
    assert type(explained(history, "DIVIDE_BY_ZERO")) is QueryFailed
    described.write_bytes(b"damaged")
    found = explained(history, "DIVIDE_BY_ZERO")
    assert isinstance(found, StateDamaged)
    assert found.data["files"] == (described,)


def test_a_file_that_only_spark_misses_is_named_once(history: History) -> None:
    path = history.checkpoint / "state/0/0/7.snapshot"
    writing = path.with_name(".8.changelog.b6f4545e.TID7.tmp")
    said = "; ".join(f"File file:{one} does not exist" for one in (path, path, writing))
    found = explained(history, LOADING, said)
    assert found.data["files"] == (path,)


def test_an_error_of_a_task_that_writes_files_tells_only_in_its_text(history: History) -> None:
    path = history.checkpoint / "state/0/0/left-keyToNumValues/4.changelog"
    said = f"Interrupted: [{LOADING}] It failed. Caused by: File file:{path} does not exist"
    assert explained(history, "XXX", said).data["files"] == (path,)


def test_corrupt_state_whose_file_nobody_knows_is_named_by_its_folder(history: History) -> None:
    found = explained(history, LOADING, "Stream is corrupted")
    assert found.data["files"] == (history.checkpoint / "state",)


def test_state_that_could_not_be_loaded_for_another_reason_is_not_damaged(
    history: History,
) -> None:
    state_file(history, "0/0/1.delta")
    assert type(explained(history, LOADING, "No space left on device")) is QueryFailed
