"""Files of which Spark would read a part only, without a word."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tidemill.file_formats.table import READERS
from tidemill.spec.sources.file import FileSource


def source(format: str, **options: Any) -> FileSource:
    given = {"format": format, "path": "/in", "schema": "value string", "options": options}
    return FileSource.model_validate(given)


def part_read(path: Path, source: FileSource) -> str | None:
    return READERS[source.format].part_read(path, source)


def file(home: Path, name: str, content: bytes) -> Path:
    path = home / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.snappy", "a.csv.zst"])
def test_a_packed_file_is_never_empty(tmp_path: Path, name: str) -> None:
    assert part_read(file(tmp_path, name, b""), source("csv")) is not None


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_a_file_that_describes_itself_is_never_empty(tmp_path: Path, format: str) -> None:
    assert part_read(file(tmp_path, "a", b""), source(format)) is not None


@pytest.mark.parametrize("format", ["csv", "json", "text"])
def test_a_plain_file_may_be_empty(tmp_path: Path, format: str) -> None:
    assert part_read(file(tmp_path, "a", b""), source(format)) is None


def test_gzip_tells_by_itself(tmp_path: Path) -> None:
    content = gzip.compress(b"a\n" * 1000)[:-4]
    assert part_read(file(tmp_path, "a.csv.gz", content), source("csv")) is None


def test_json_after_the_first_value_is_never_read(tmp_path: Path) -> None:
    several = file(tmp_path, "a.json", b'{"value": "a"}\n{"value": "b"}\n')
    assert part_read(several, source("json", multiLine=True)) is not None
    assert part_read(several, source("json")) is None
    assert part_read(several, source("json", multiLine=True, allowComments=True)) is None


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf{} {}",
        b"[" * 5_000 + b"]" * 5_000 + b" {}",
        b'{"value": "' + b"a" * 100_000 + b'"}\n\n{}',
    ],
    ids=["a mark of UTF-8", "deep", "long"],
)
def test_what_follows_a_value_is_found_whatever_that_is(tmp_path: Path, content: bytes) -> None:
    several = file(tmp_path, "a.json", content)
    assert part_read(several, source("json", multiLine=True)) is not None


@pytest.mark.parametrize("content", ['[{"value": "a"},\n {}]\n', '{"value":\n"a"}', "[1, 2", "{x"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_json_of_one_value_and_json_that_spark_calls_malformed_pass(
    tmp_path: Path, content: str, encoding: str
) -> None:
    one = file(tmp_path, "a.json", content.encode(encoding))
    assert part_read(one, source("json", multiLine=True, encoding=encoding)) is None


def test_spark_reads_the_first_value_of_multi_line_json_alone(tmp_path: Path, spark: Any) -> None:
    several = file(tmp_path, "a.json", b'{"value": "a"}\n{"value": "b"}\n')
    read = spark.read.schema("value string").option("multiLine", True).json(str(several))
    assert [row.value for row in read.collect()] == ["a"]
    assert json.loads(several.read_text().splitlines()[1]) == {"value": "b"}


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b'k,n\n"two\nlines",2\n', {}),
        (b'n,k\r\n1,"two\r\nlines"\r\n2,b\r\n', {}),
        (b'k,n\n"a ""b\n\n""c""",1\n', {}),
        (b"k;n\n'a;\nb';2\n", {"sep": ";", "quote": "'"}),
        (b'k\n"a \\" b\nc",2\n', {"escape": "\\"}),
        (b'k,n\nsaid "x,1\n"two\nlines",2', {}),
        ('k\n"Zürich\n"'.encode("latin-1"), {"encoding": "ISO-8859-1"}),
    ],
)
def test_a_line_break_inside_quotes_of_csv_takes_multiline(
    tmp_path: Path, content: bytes, options: dict[str, Any]
) -> None:
    path = file(tmp_path, "a.csv", content)
    assert part_read(path, source("csv", **options)) is not None
    assert part_read(path, source("csv", **options, multiLine=True)) is None
    packed = file(tmp_path, "a.csv.gz", gzip.compress(content))
    assert part_read(packed, source("csv", **options)) is not None


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b'k,n\n"say ""hi"" x",1\n"5"" pipe, steel",2\n', {}),
        (b'k,n\n5" pipe,1\n6" pipe,2\n', {}),
        (b'k,n\n"never closed,1\nb,2\n', {}),
        (b'k,n\n#"a\n#b"\nc,1\n', {"comment": "#"}),
        (b'k,n\n"a\nb",1\n', {"quote": ""}),
        (b'k\n"a \\" b"\n"c"\n', {"escape": "\\"}),
    ],
)
def test_other_quotes_of_csv_hold_nothing(
    tmp_path: Path, content: bytes, options: dict[str, Any]
) -> None:
    assert part_read(file(tmp_path, "a.csv", content), source("csv", **options)) is None


def test_a_line_break_inside_quotes_is_found_behind_the_first_megabyte(tmp_path: Path) -> None:
    rows = b'"a ""b""",1\n' * 200_000
    assert part_read(file(tmp_path, "a.csv", rows), source("csv")) is None
    late = file(tmp_path, "b.csv", rows + b'"two\nlines",2\n' + rows)
    assert "(line 200001)" in str(part_read(late, source("csv")))
