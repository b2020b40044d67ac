"""Avro files that are whole, cut short, or made up to harm their reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.avro_file import CODECS, write_avro
from tidemill.file_formats.avro import avro_schema
from tidemill.file_formats.reader import NotWhole, TornOutput
from tidemill.file_formats.table import READERS
from tidemill.file_formats.written_format import WriteFormat

MARKER = bytes(16)
AVRO, WRITTEN = READERS["avro"], WriteFormat(format="avro")


def number(value: int) -> bytes:
    """A number as Avro writes it."""
    zigzag = (value << 1) ^ (value >> 63)
    found = bytearray()
    while zigzag > 0x7F:
        found.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*found, zigzag])


def text(content: bytes) -> bytes:
    return number(len(content)) + content


def header(schema: bytes) -> bytes:
    return b"Obj\x01" + number(1) + text(b"avro.schema") + text(schema) + number(0) + MARKER


@pytest.mark.parametrize("codec", CODECS)
def test_a_file_that_ends_within_its_header_or_a_block_is_refused(
    tmp_path: Path, codec: str
) -> None:
    path = tmp_path / "whole.avro"
    fields = {"id": ["null", "long"], "_reject": ["null", "string"]}
    rows = [{"id": None, "_reject": f'{{"reason": "{place}"}}'} for place in range(15)]
    write_avro(path, fields, rows, block_bytes=100, codec=codec)
    content = path.read_bytes()
    marker = content[-16:]
    # Between two blocks nothing says that another one follows.
    whole = [place for place in range(len(content)) if content[:place].endswith(marker)]
    torn = tmp_path / "torn.avro"
    for cut in set(range(len(content))) - set(whole):
        torn.write_bytes(content[:cut])
        with pytest.raises(TornOutput):
            AVRO.measure(torn, WRITTEN)
        with pytest.raises(NotWhole):
            AVRO.rejects(torn, WRITTEN)
        if cut < whole[0]:
            with pytest.raises(NotWhole):
                avro_schema(torn)
    assert AVRO.measure(path, WRITTEN).rows == len(AVRO.rejects(path, WRITTEN)) == 15


@pytest.mark.parametrize(
    "content",
    [
        header(b'"long"').replace(b"Obj", b"Foo"),
        header(b"not JSON"),
        header(b"[" * 200_000),
        header(b'"long"').replace(b"schema", b"scheme"),
        b"Obj\x01" + number(1) + number(2**40) + b"x",
        b"Obj\x01" + number(1) + number(2**62) + b"x",
        b"Obj\x01" + number(1) + number(-5) + b"x" * 50,
        b"Obj\x01" + number(2**62) + bytes(50),
        b"Obj\x01" + b"\xff" * 100,
    ],
    ids=[
        "another magic",
        "no JSON",
        "deep JSON",
        "no schema",
        "a terabyte",
        "an exabyte",
        "a negative length",
        "endless entries",
        "an endless number",
    ],
)
def test_a_made_up_header_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(content)
    with pytest.raises(NotWhole):
        avro_schema(path)
    with pytest.raises(TornOutput):
        AVRO.measure(path, WRITTEN)


def test_a_schema_that_only_spark_accepts_is_read(tmp_path: Path) -> None:
    schema = '{"type": "record", "name": "a-b", "fields": [{"name": "c-d", "type": "long"}]}'
    path = tmp_path / "a.avro"
    path.write_bytes(header(schema.encode()))
    assert avro_schema(path)["fields"] == [{"name": "c-d", "type": "long"}]
