"""Verifies the state files in a checkpoint against the checksums beside them.

Hadoop's local file system writes `.<name>.crc` beside each file: the bytes per checksum, then a
CRC-32 of each such chunk. Spark checks them as it reads, and mostly says nothing of the file.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from tidemill.spark_logs.state_versions import VERSION, walk_files

MAGIC = b"crc\0"
METADATA = "_metadata"
# What a task was writing when Spark stopped it, `.<name>.<uuid>.tmp`; it is never read again.
UNFINISHED = ".tmp"


def damaged_state_files(checkpoint: Path, *, metadata_only: bool = False) -> tuple[Path, ...]:
    """The files of the state that are not what Spark wrote, or that are gone.

    Args:
        metadata_only: Whether to look only at the few small files that describe the state; all of
            it may take as long as reading it.
    """
    below = f"**/{METADATA}/**/.*.crc" if metadata_only else "**/.*.crc"
    state = checkpoint / "state"
    sums = sorted(state.glob(below))
    files = [(path.with_name(path.name[1:].removesuffix(".crc")), path) for path in sums]
    disagree = [
        file for file, path in files if file.suffix != UNFINISHED and not _agrees(file, path)
    ]
    return (*disagree, *(() if metadata_only else _empty(state)))


def _empty(state: Path) -> Iterator[Path]:
    """Files without any content, which have lost their checksum too."""
    return (
        file
        for file in walk_files(state)
        if VERSION.fullmatch(file.name)
        and file.suffix != ".crc"
        and not file.stat().st_size
        and not file.with_name(f".{file.name}.crc").exists()
    )


def _agrees(file: Path, checksums: Path) -> bool:
    """Whether a file has the checksums that were written with it."""
    said = checksums.read_bytes()
    if said[: len(MAGIC)] != MAGIC or len(said) < 8:
        return False
    (chunk_bytes,) = struct.unpack(">i", said[4:8])
    expected = said[8:]
    found = bytearray()
    try:
        with file.open("rb") as content:
            while chunk := content.read(chunk_bytes):
                found += struct.pack(">I", zlib.crc32(chunk))
    except FileNotFoundError:
        return False
    return bytes(found) == expected
