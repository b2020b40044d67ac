"""The rows of a file, counted without Spark; `tests/engine/sources/test_file.py` asks Spark."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.support.avro_file import write_avro
from tidemill.file_formats.lines import CHUNK_BYTES
from tidemill.file_formats.table import READERS
from tidemill.spec.sources.file import FileSource


def counted(path: Path, format: str, **options: Any) -> int | None:
    source = FileSource.model_validate(
        {"format": format, "path": "/in", "schema": "x string", "options": options}
    )
    return READERS[format].records(path, source)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize(
    ("format", "lines", "rows"),
    [
        ("csv", ["x", "1", "", "\t ", '"a', 'b"'], 3),
        ("json", ['{"x": 1}', ' {"x": [{}, {}]} ', '{"x": '], None),
        ("json", ['{"x": 1}', "", '{"x": 2}'], None),
        ("json", ['{"x": 1}', ' {"x": [{}, {}]} '], 2),
        ("json", ['{"x": 1}', ' {"x": 2} '], 2),
        ("text", ["a", "", "b"], 3),
    ],
)
def test_lines_however_they_end(
    tmp_path: Path, format: str, lines: list[str], rows: int | None, end: str, last: bool
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbf" + (end.join(lines) + end * last).encode())
    assert counted(path, format) == rows


def test_a_line_that_goes_over_pieces_is_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * (CHUNK_BYTES - 1) + b"\r\nb\r" + b"c" * 2 * CHUNK_BYTES + b"\n")
    assert counted(path, "text") == 3


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.bz2", bz2.compress)])
def test_packed_lines(tmp_path: Path, name: str, pack: Any) -> None:
    (tmp_path / name).write_bytes(pack(b"x\n1\n2\n"))
    assert counted(tmp_path / name, "csv") == 2


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({}, 2),
        ({"header": False}, 3),
        ({"comment": "#"}, 1),
        ({"encoding": "latin1"}, 2),
        ({"encoding": "UTF-16"}, None),
        ({"multiLine": True}, None),
        ({"lineSep": "|"}, None),
    ],
)
def test_options_that_change_what_a_row_is(
    tmp_path: Path, options: dict[str, Any], rows: int | None
) -> None:
    (tmp_path / "file").write_text("x\n#1\n2\n")
    assert counted(tmp_path / "file", "csv", **options) == rows


@pytest.mark.parametrize("line", ['{"x": 1}{"x": 2}', '{"x": 1} more', '[{"x": 1}, {"x": 2}]'])
def test_of_a_line_that_may_be_several_rows_only_spark_can_tell(tmp_path: Path, line: str) -> None:
    (tmp_path / "file").write_text(f'{{"x": 0}}\n{line}\n')
    assert counted(tmp_path / "file", "json") is None


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_files_that_know_their_rows(tmp_path: Path, format: str) -> None:
    path = tmp_path / "file"
    if format == "avro":
        write_avro(path, {"x": "string"}, [{"x": "a"}] * 3, block_bytes=1)
    else:
        write: Any = pq.write_table if format == "parquet" else orc.write_table
        write(pa.table({"x": ["a", "b", "c"]}), str(path))
    assert counted(path, format) == 3
