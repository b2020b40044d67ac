"""File sources on Spark: what each option makes of files, and that Spark reads what we list."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidemill.engine.sources.columns import CORRUPT, ORIGIN
from tidemill.engine.sources.file import read_batch, stream
from tidemill.file_formats.table import READERS
from tidemill.sources.files.listing import list_source
from tidemill.spark_logs.metadata_log import batch_files
from tidemill.spark_logs.partition_paths import disk_path
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec

EVOLVING = {
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.offsetLog.formatVersion": "2",
}


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


class Reading:
    """A query over a source, which is run until everything there is read."""

    def __init__(self, spark: Any, home: Path) -> None:
        self.spark = spark
        self.home = home

    def __call__(self, format: str, schema: str, glob: Any = "", **more: Any) -> list[Any]:
        """All rows up to now, without what the engine adds."""
        given = {
            "kind": "file",
            "format": format,
            "path": f"{self.home / 'in'}{glob}",
            "schema": schema,
            **more,
        }
        source = FileSource.model_validate(given)
        spec = Spec.model_validate({"sources": {"s": given}, "sink": {"kind": "console"}})
        rows = stream(self.spark, "s", source, spec)
        writer = rows.writeStream.option("checkpointLocation", str(self.home / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(self.home / "out"), "json")
        query.awaitTermination()
        if not (self.home / "out" / "_spark_metadata").exists():
            return []
        read = self.spark.read.schema(rows.schema).json(str(self.home / "out")).collect()
        self.origins = {disk_path(row[ORIGIN]) for row in read}
        self.corrupt = [row[CORRUPT] for row in read if row[CORRUPT] is not None]
        self.listed = {str(file.path) for file in list_source(source).files}
        columns = source.columns
        return sorted((tuple(row[name] for name in columns) for row in read), key=repr)

    @property
    def batches(self) -> int:
        return len(batch_files(self.home / "checkpoint" / "commits"))


@pytest.fixture
def read(spark: Any, tmp_path: Path) -> Iterator[Reading]:
    before = {name: spark.conf.get(name, None) for name in EVOLVING}
    for name, value in EVOLVING.items():
        spark.conf.set(name, value)
    yield Reading(spark, tmp_path)
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def put(path: Path, content: str | bytes, age: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if age is not None:
        os.utime(path, (2_000_000_000 - age, 2_000_000_000 - age))


def test_partition_columns_come_from_the_path_in_their_types(feed: Path, read: Reading) -> None:
    put(feed / "k=01" / "day=2026-03-01" / "a.csv", "x\n1\n")
    put(feed / "k=02" / "day=2026-03-02" / "b.csv", "x\n2\n")
    rows = read("csv", "x int, k string, day date")
    assert [(x, k, str(day)) for x, k, day in rows] == [
        (1, "01", "2026-03-01"),
        (2, "02", "2026-03-02"),
    ]
    assert read.origins == read.listed
    assert read.corrupt == []


def test_below_a_glob_they_come_with_a_base_path_only(feed: Path, read: Reading) -> None:
    put(feed / "shop" / "k=1" / "a.json", '{"x": 1}\n')
    assert read("json", "x int, k int", "/shop/k=*") == [(1, None)]
    put(feed / "shop" / "k=2" / "b.json", '{"x": 2}\n')
    based = {"options": {"basePath": str(feed / "shop")}}
    assert read("json", "x int, k int", "/shop/k=*", **based) == [(1, None), (2, 2)]


GLOB_NAMES = ["plain", "a1", "a[1]", "a{1}", "a?b", "a*b", "a\\b"]


def test_a_glob_character_in_a_name_is_a_letter_like_any_other(feed: Path, read: Reading) -> None:
    for name in GLOB_NAMES:
        put(feed / f"{name}.json", json.dumps({"x": name}))
    rows = read("json", "x string")
    assert rows == sorted(((name,) for name in GLOB_NAMES), key=repr)
    source = FileSource.model_validate({"format": "json", "path": str(feed), "schema": "x string"})
    for paths in (sorted(read.listed), [str(feed / "a[1].json")]):
        again = read_batch(read.spark, source, paths)
        assert {disk_path(row[ORIGIN]) for row in again.collect()} == set(paths)
        assert again.count() == len(paths)


def test_in_a_directory_it_is_one_too(feed: Path, read: Reading) -> None:
    for name in ("k=[1]/a.csv", "k=[1]/b[2].csv", "k=1/a.csv"):
        put(feed / name, "x\n1\n")
    partitioned = read("csv", "x int, k string", maxFilesPerTrigger=2)
    assert partitioned == [(1, "1"), (1, "[1]"), (1, "[1]")]
    source = FileSource.model_validate(
        {"format": "csv", "path": str(feed), "schema": "x int, k string"}
    )
    again = read_batch(read.spark, source, sorted(read.listed), str(feed))
    assert sorted((row.x, row.k) for row in again.collect()) == partitioned


def test_below_a_glob_it_is_one_too(feed: Path, read: Reading) -> None:
    for name in ("x[1]/a.csv", "x[1]/b.csv", "x1/a.csv"):
        put(feed / name, "x\n1\n")
    assert read("csv", "x int", "/*", latestFirst=True) == [(1,), (1,), (1,)]


LINES = {
    "csv": [
        "x\n1\n",
        "x\r\n\r\n1\r\n \r\n2",
        "x\r1\r2\r",
        'x\n"a\nb"\n1,2\n\t\n',
        "x\n",
        "\n\nx\n1",
    ],
    "json": ['{"x": 1}\r\n {"x": {"y": 1}} \r\n', '{"x": "}"}\r{"z": 1}', '{"x": "1"}\n\n[1]'],
    "text": ["a\n\nb", "a\r\n\r\n", "a\rb\r", "\n"],
}


@pytest.mark.parametrize("format", LINES)
def test_spark_reads_as_many_rows_of_a_file_as_are_counted_without_it(
    spark: Any, feed: Path, format: str
) -> None:
    given = {"format": format, "path": str(feed), "schema": "x string"}
    for number, content in enumerate(LINES[format]):
        put(feed / f"{number}", content)
        put(feed / f"{number} with a mark", "\ufeff" + content)
        put(feed / f"{number}.gz", gzip.compress(content.encode()))
    source = FileSource.model_validate(given)
    rows = read_batch(spark, source, [str(path) for path in feed.iterdir()])
    read = Counter(disk_path(row[ORIGIN]) for row in rows.collect())
    counts = {str(path): READERS[format].records(path, source) for path in feed.iterdir()}
    counted = {path: rows for path, rows in counts.items() if rows is not None}
    assert len(counted) >= len(LINES[format])
    assert {path: read[path] for path in counted} == counted


def test_recursion_and_filters_read_what_is_listed(feed: Path, read: Reading) -> None:
    for name in ("a.csv", "deep/er/b.csv", "deep/c.txt", "_hidden/d.csv", "k=1/e.csv"):
        put(feed / name, f"x\n{len(name)}\n")
    options = {"recursiveFileLookup": True, "pathGlobFilter": "*.{csv,tsv}"}
    read("csv", "x int", options=options)
    assert read.origins == read.listed
    assert {Path(path).name for path in read.listed} == {"a.csv", "b.csv", "e.csv"}


def test_packed_files_are_read_by_their_endings(feed: Path, read: Reading) -> None:
    packed = {
        "a.csv.gz": gzip.compress(b"x\n1\n"),
        "b.csv.bz2": bz2.compress(b"x\n2\n"),
        "c.csv.deflate": zlib.compress(b"x\n3\n"),
        "d.csv.zst": pa.compress(b"x\n4\n", codec="zstd", asbytes=True),
        "e.csv": b"x\n5\n",
    }
    for name, content in packed.items():
        put(feed / name, content)
    assert read("csv", "x int") == [(1,), (2,), (3,), (4,), (5,)]


@pytest.mark.parametrize(
    ("format", "options", "content", "rows"),
    [
        ("text", {}, "a\r\nb\n", [("a",), ("b",)]),
        ("text", {"wholetext": True}, "a\nb\n", [("a\nb\n",)]),
        ("text", {"lineSep": "|"}, "a|b\n|", [("a",), ("b\n",)]),
        (
            "csv",
            {},
            'value\n"say ""hi"" x"\n"5"" pipe, steel"\n',
            [('5" pipe, steel',), ('say "hi" x',)],
        ),
        ("csv", {"multiLine": True}, 'value\n"a\nb"\n', [("a\nb",)]),
        ("csv", {"header": False, "sep": "||", "comment": "#"}, "#x\na||\n", None),
        ("csv", {"encoding": "ISO-8859-1"}, "value\né\n".encode("latin-1"), [("é",)]),
        ("json", {"multiLine": True}, '[{"value": "a"},\n{"value": "b"}]', [("a",), ("b",)]),
        ("json", {"allowSingleQuotes": False}, "{'value': 'a'}\n", [(None,)]),
        ("json", {"encoding": "UTF-16LE", "lineSep": "\n"}, '{"value":"é"}\n', [("é",)]),
    ],
)
def test_options_are_sparks_own(
    feed: Path, read: Reading, format: str, options: Any, content: Any, rows: Any
) -> None:
    if options.get("encoding") == "UTF-16LE":
        content = content.encode("utf-16-le")
    put(feed / "file", content)
    found = read(format, "value string", options=options)
    if rows is None:
        # Two separators make two columns, and there is one.
        assert read.corrupt == ["a||"]
    else:
        assert found == rows


def test_each_object_of_a_json_array_is_good_or_malformed_by_itself(
    feed: Path, read: Reading
) -> None:
    exact = b'{"k": "a", "n": 12345678901234567890.1234567890}'
    files = {
        "array": b'\xef\xbb\xbf[%b,\n {"k": "b", "n": "nine"}, {"K": "c"},\n null]' % exact,
        "blank": b" \n",
        "bytes": b'[{"k": "d\xff"},\n {"k": "e"}]',
        "cut": b'[{"k": "f"}, {"k": "g"',
        "empty": b"[]",
        "mixed": b'[{"k": "h"}, 7]',
        "object": b'{"k": "i",\n "n": 1.50}',
    }
    for name, content in files.items():
        put(feed / "day=2026-03-01" / name, content)
    schema = "k string, n decimal(38,10), day string"
    rows = read("json", schema, options={"multiLine": True})
    good = [row for row in rows if row[0] is not None]
    assert {(k, n and str(n)) for k, n, _ in good} >= {
        ("a", "12345678901234567890.1234567890"),
        ("e", None),
        ("i", "1.5000000000"),
    }
    assert {day for *_, day in rows} == {"2026-03-01"}
    assert sorted(read.corrupt) == [
        "7",
        '[{"k": "f"}, {"k": "g"',
        "null",
        '{"k":"b","n":"nine"}',
        '{"k":"d\N{REPLACEMENT CHARACTER}"}',
        '{"k":"h"}',
    ]
    assert len(rows) == len(read.corrupt) + 4


def test_bytes_bound_a_batch(feed: Path, read: Reading) -> None:
    for number in range(3):
        put(feed / f"{number}.csv", f"x\n{number}\n", age=number)
    read("csv", "x int", maxBytesPerTrigger=8)
    assert read.batches == 2


def test_the_latest_comes_first_where_it_is_asked_for(feed: Path, read: Reading) -> None:
    for number in range(3):
        put(feed / f"{number}.csv", f"x\n{number}\n", age=number)
    read("csv", "x int", latestFirst=True, maxFilesPerTrigger=1, maxFileAge="1s")
    assert read.batches == 3
    (first,) = [json.loads(line) for line in _entry(read.home, 0)]
    assert Path(first["path"]).name == "0.csv"


def test_a_name_that_was_read_is_not_read_again_by_name_only(feed: Path, read: Reading) -> None:
    recursive = {"options": {"recursiveFileLookup": True}, "fileNameOnly": True}
    put(feed / "one" / "a.csv", "x\n1\n")
    assert read("csv", "x int", **recursive) == [(1,)]
    put(feed / "two" / "a.csv", "x\n2\n")
    put(feed / "two" / "b.csv", "x\n3\n")
    assert read("csv", "x int", **recursive) == [(1,), (3,)]


@pytest.mark.parametrize("clean", ["delete", "archive"])
def test_without_a_gate_spark_cleans_as_it_is_told(
    feed: Path, read: Reading, tmp_path: Path, clean: str
) -> None:
    more = {"cleanSource": clean}
    if clean == "archive":
        more["sourceArchiveDir"] = str(tmp_path / "archive")
    for number in range(2):
        put(feed / f"{number}.csv", f"x\n{number}\n", age=2 - number)
    # Spark cleans up after a batch when it plans the next one.
    assert read("csv", "x int", maxFilesPerTrigger=1, **more) == [(0,), (1,)]
    assert not (feed / "0.csv").exists()
    kept = tmp_path / "archive" / (feed / "0.csv").relative_to("/")
    assert kept.exists() is (clean == "archive")


def _entry(home: Path, number: int) -> list[str]:
    return (home / "checkpoint" / "sources" / "s" / str(number)).read_text().splitlines()[1:]
