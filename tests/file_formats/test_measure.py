"""Rows of the sink's files in every format, counted without Spark."""

from __future__ import annotations

import bz2
import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from tests.support.avro_file import write_avro
from tidemill.file_formats import lines
from tidemill.file_formats.reader import MissingDataFile, TornOutput
from tidemill.file_formats.table import measure_all
from tidemill.file_formats.written_format import WriteFormat

JSON, TEXT, CSV = WriteFormat(format="json"), WriteFormat(format="text"), WriteFormat(format="csv")


def count_rows(path: Path, written: WriteFormat) -> int:
    (measured,) = measure_all([(path, written)])
    return measured.rows


def file(home: Path, name: str, content: bytes) -> Path:
    path = home / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("written", [JSON, TEXT, CSV])
@pytest.mark.parametrize(("content", "rows"), [(b"", 0), (b"a\n", 1), (b"a\nb\n\n", 3)])
def test_each_row_ends_with_a_line_break(
    tmp_path: Path, written: WriteFormat, content: bytes, rows: int
) -> None:
    assert count_rows(file(tmp_path, "part", content), written) == rows


def test_a_line_break_is_what_the_writer_was_told(tmp_path: Path) -> None:
    written = WriteFormat(format="json", options={"LINESEP": "\r\n"})
    assert count_rows(file(tmp_path, "part", b'{"a":"\n"}\r\n{}\r\n'), written) == 2


@pytest.mark.parametrize(
    ("content", "options", "rows"),
    [
        (b'1,"a\nb"\n2,c\n', {}, 2),
        (b'1,"a \\" \n \\\\"\n2,c\n', {}, 2),
        (b'1,"a "" \n"\n2,c\n', {"escape": '"'}, 2),
        (b"1,'a\n\"'\n2,c\n", {"quote": "'"}, 2),
        (b"id,b\n1,a\n", {"header": "true"}, 1),
        (b"id,b\n", {"header": "TRUE"}, 0),
        (b"", {"header": "true"}, 0),
        (b'"a"\n""\n', {}, 2),
    ],
)
def test_in_csv_a_line_break_inside_quotes_ends_no_row(
    tmp_path: Path, content: bytes, options: dict[str, str], rows: int
) -> None:
    written = WriteFormat(format="csv", options=options)
    assert count_rows(file(tmp_path, "part.csv", content), written) == rows


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_a_row_may_go_on_in_the_next_chunk(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "CHUNK_BYTES", size)
    content = b'1,"a\nb\n\\"c"\n2,"\n"\n3,d\n'
    assert count_rows(file(tmp_path, "part.csv", content), CSV) == 3
    assert count_rows(file(tmp_path, "part.json", content), JSON) == 6
    two_bytes = WriteFormat(format="json", options={"lineSep": "\r\n"})
    content = b"\r\n{}\n\r\r\n\n\r\n"
    assert count_rows(file(tmp_path, "part.json", content), two_bytes) == 3


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".deflate", zlib.compress)],
)
def test_compressed_rows_are_counted_and_a_torn_file_is_refused(
    tmp_path: Path, suffix: str, compress: object
) -> None:
    content = compress(b"row\n" * 1000)  # type: ignore[operator]
    assert count_rows(file(tmp_path, f"whole{suffix}", content), TEXT) == 1000
    torn = file(tmp_path, f"torn{suffix}", content[:-6])
    with pytest.raises(TornOutput) as refused:
        count_rows(torn, TEXT)
    assert (refused.value.file, refused.value.size) == (torn, len(content) - 6)


@pytest.mark.parametrize(
    ("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".deflate", zlib.compress)]
)
def test_a_row_of_many_megabytes_costs_no_memory(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    path = file(tmp_path, f"part{suffix}", compress(b"x" * 40 * 2**20 + b"\n{}\n"))
    tracemalloc.start()
    assert count_rows(path, JSON) == 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


@pytest.mark.parametrize("written", [JSON, TEXT, CSV])
def test_a_last_row_without_an_end_is_torn(tmp_path: Path, written: WriteFormat) -> None:
    with pytest.raises(TornOutput):
        count_rows(file(tmp_path, "part", b"a\nb"), written)


@pytest.mark.parametrize("format", ["orc", "avro"])
def test_orc_and_avro_say_themselves_how_many_rows_they_hold(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"part.{format}"
    if format == "orc":
        orc.write_table(pa.table({"id": list(range(70))}), str(path))
    else:
        write_avro(path, {"id": "long"}, [{"id": number} for number in range(70)], block_bytes=32)
    written = WriteFormat.model_validate({"format": format})
    assert count_rows(path, written) == 70
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(TornOutput):
        count_rows(path, written)
    path.write_bytes(b"")
    with pytest.raises(TornOutput):
        count_rows(path, written)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataFile) as missing:
        count_rows(tmp_path / "gone.json", JSON)
    assert missing.value.file == tmp_path / "gone.json"


NASTY = ['a"b', "a\nb", 'a\\"', "\\", '"', "\r", " a ", ",", '\n"\n', "", None, "é", "a\\\nb", "''"]


@pytest.mark.parametrize("options", [{}, {"escape": '"'}, {"quoteAll": "true"}, {"quote": "'"}])
def test_rows_that_spark_wrote_are_counted(
    tmp_path: Path, spark: object, options: dict[str, str]
) -> None:
    rows = [(one, other) for one in NASTY for other in NASTY]
    frame = spark.createDataFrame(rows, "a string, b string")  # type: ignore[attr-defined]
    options = {"header": "true", **options}
    for format in ("csv", "json"):
        out = tmp_path / format
        frame.coalesce(1).write.format(format).options(**options).save(str(out))
        written = WriteFormat(format=format, options=options)
        (part,) = out.glob("part-*")
        assert count_rows(part, written) == len(rows)
