"""State files held against the checksums that Hadoop's local file system writes beside them."""

import struct
import zlib
from pathlib import Path

import pytest

from tidemill.spark_logs.state_files import damaged_state_files

CHUNK_BYTES = 512


def write_checked(file: Path, content: bytes) -> Path:
    """A file with its checksums, as Hadoop's local file system leaves both."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    chunks = (content[at : at + CHUNK_BYTES] for at in range(0, len(content), CHUNK_BYTES))
    sums = b"".join(struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)
    head = b"crc\0" + struct.pack(">i", CHUNK_BYTES)
    file.with_name(f".{file.name}.crc").write_bytes(head + sums)
    return file


@pytest.fixture
def change_log(tmp_path: Path) -> Path:
    return write_checked(tmp_path / "state" / "0" / "1" / "3.changelog", b"rows" * 300)


def test_a_file_is_damaged_if_one_byte_is_another(tmp_path: Path, change_log: Path) -> None:
    assert damaged_state_files(tmp_path) == ()
    content = bytearray(change_log.read_bytes())
    content[700] ^= 0x41
    change_log.write_bytes(content)
    assert damaged_state_files(tmp_path) == (change_log,)


def test_a_file_that_is_gone_is_damaged(tmp_path: Path, change_log: Path) -> None:
    change_log.unlink()
    assert damaged_state_files(tmp_path) == (change_log,)


def test_what_a_stopped_task_was_writing_is_not_damaged(tmp_path: Path, change_log: Path) -> None:
    half = write_checked(change_log.with_name(".4.changelog.2f58155a.TID1670.tmp"), b"rows")
    half.write_bytes(b"ro")
    assert damaged_state_files(tmp_path) == ()
    half.unlink()
    assert damaged_state_files(tmp_path) == ()


def test_an_empty_file_without_a_checksum_is_damaged(tmp_path: Path, change_log: Path) -> None:
    change_log.with_name(f".{change_log.name}.crc").unlink()
    assert damaged_state_files(tmp_path) == ()
    change_log.write_bytes(b"")
    assert damaged_state_files(tmp_path) == (change_log,)
