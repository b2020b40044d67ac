"""XML on Spark: the rows that are counted without it, of which malformed ones keep their text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.xml_documents import MALFORMED, MISREAD, WHOLE, A
from tidemill.engine.sources.columns import CORRUPT, ORIGIN
from tidemill.engine.sources.file import read_batch
from tidemill.file_formats.table import READERS
from tidemill.spark_logs.partition_paths import disk_path
from tidemill.spec.sources.file import FileSource

SCHEMA = "_id string, n int, at timestamp, who struct<_VALUE: string, _vip: boolean>"
XML = READERS["xml"]


@pytest.fixture
def read(spark: Any, tmp_path: Path) -> Any:
    def rows_of(
        files: dict[str, str | bytes], schema: str = SCHEMA, **options: Any
    ) -> dict[str, list[Any]]:
        """File -> its rows."""
        given = {"format": "xml", "path": str(tmp_path), "schema": schema}
        options = {"rowTag": "row", **options}
        source = FileSource.model_validate({**given, "options": options})
        paths = {name: tmp_path / f"{number}.xml" for number, name in enumerate(files)}
        for name, content in files.items():
            paths[name].write_bytes(content if isinstance(content, bytes) else content.encode())
        rows = read_batch(spark, source, [str(path) for path in paths.values()]).collect()
        return {
            name: [row for row in rows if disk_path(row[ORIGIN]) == str(path)]
            for name, path in paths.items()
        }

    return rows_of


def test_spark_finds_the_rows_that_are_counted_and_only_what_is_told_misleads_it(read: Any) -> None:
    counted = {name: rows for name, (_, rows) in WHOLE.items()}
    found = read({name: text for name, (text, _) in {**WHOLE, **MISREAD}.items()})
    assert {name: len(found[name]) for name in WHOLE} == counted
    held = {name: rows for name, (_, rows) in MISREAD.items()}
    right = {name for name, rows in found.items() if not any(row[CORRUPT] for row in rows)}
    assert [name for name in right if name in held and len(found[name]) == held[name]] == []


def test_a_row_that_does_not_parse_is_malformed_with_its_own_text(read: Any) -> None:
    many = A.replace("<n>1", "<n>many")
    files = {name: text for name, (text, _) in MALFORMED.items()}
    noon = "<row><at>10:00</at></row>"
    vip = "<row><who vip='maybe'>Bob</who></row>"
    expected = {name: texts for name, (_, texts) in MALFORMED.items()}
    found = read({**files, "types": f"<rows>{many}{noon}{vip}{A}</rows>"})
    assert {
        name: [row[CORRUPT] for row in rows if row[CORRUPT]] for name, rows in found.items()
    } == {**expected, "types": [many, noon, vip]}
    assert [row["_id"] for row in found["types"] if not row[CORRUPT]] == ["a"]
    (good,) = [row for row in found["types"] if not row[CORRUPT]]
    assert (good["n"], good["who"].asDict()) == (1, {"_VALUE": "Bob", "_vip": True})


def test_bytes_of_another_encoding_are_malformed_deep_in_a_row_too(read: Any) -> None:
    zurich = '<rows><row id="a"><who>Zürich</who></row><row id="b"/></rows>'.encode("latin-1")
    (broken, good) = read({"a": zurich})["a"]
    assert "Z\ufffdrich" in broken[CORRUPT]
    assert (good["_id"], good[CORRUPT]) == ("b", None)
    (fitting, _) = read({"a": zurich}, encoding="ISO-8859-1")["a"]
    assert (fitting["who"]["_VALUE"], fitting[CORRUPT]) == ("Zürich", None)
