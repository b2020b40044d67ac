"""XML files without Spark: rows are counted, and what Spark would misread is told."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.support.xml_documents import MALFORMED, MISREAD, TORN, WHOLE, A
from tidemill.file_formats.lines import CHUNK_BYTES
from tidemill.file_formats.reader import DAMAGED
from tidemill.file_formats.table import READERS
from tidemill.spec.sources.file import FileSource

XML = READERS["xml"]


def source(schema: str = "_id string, n int", **options: Any) -> FileSource:
    given = {"format": "xml", "path": "/in", "schema": schema}
    return FileSource.model_validate({**given, "options": {"rowTag": "row", **options}})


def file(home: Path, content: str | bytes, name: str = "a.xml") -> Path:
    path = home / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", WHOLE)
def test_rows_are_counted_as_elements(tmp_path: Path, name: str) -> None:
    text, rows = WHOLE[name]
    path = file(tmp_path, text)
    assert (XML.records(path, source()), XML.part_read(path, source())) == (rows, None)
    packed = file(tmp_path, gzip.compress(text.encode()), "a.xml.gz")
    assert XML.records(packed, source()) == rows


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_row_is_for_spark_to_reject(tmp_path: Path, name: str) -> None:
    path = file(tmp_path, MALFORMED[name][0])
    assert (XML.records(path, source()), XML.part_read(path, source())) == (None, None)


@pytest.mark.parametrize("name", TORN)
def test_a_file_that_ends_early_is_told(tmp_path: Path, name: str) -> None:
    assert "ends before" in str(XML.part_read(file(tmp_path, TORN[name]), source()))


@pytest.mark.parametrize("name", MISREAD)
def test_rows_that_spark_would_not_find_are_told(tmp_path: Path, name: str) -> None:
    assert "takes for something else" in str(
        XML.part_read(file(tmp_path, MISREAD[name][0]), source())
    )


def test_a_last_tag_that_goes_over_pieces_is_found(tmp_path: Path) -> None:
    filled = "x" * (CHUNK_BYTES - len("<rows><row id=_a_><w></w></r"))
    text = f"<rows><row id='a'><w>{filled}</w></row >{A}</rows>"
    assert "'</row >'" in str(XML.part_read(file(tmp_path, text), source()))


@pytest.mark.parametrize("content", ["", "hello", "{}"])
def test_what_is_not_xml_is_told(tmp_path: Path, content: str) -> None:
    assert XML.part_read(file(tmp_path, content), source()) is not None


def test_a_packed_file_that_was_cut_short_is_damaged(tmp_path: Path) -> None:
    content = gzip.compress(WHOLE["two rows"][0].encode())[:-9]
    with pytest.raises(DAMAGED):
        XML.part_read(file(tmp_path, content, "a.xml.gz"), source())


def test_the_encoding_has_to_be_the_declared_one_where_it_matters(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><rows><row id="{}"/></rows>'
    zurich = file(tmp_path, text.format("Zürich").encode("latin-1"))
    plain = file(tmp_path, text.format("Rome"), "b.xml")
    (misfit,) = XML.misfits(zurich, source(), {})
    assert "ISO-8859-1" in misfit
    latin = source(encoding="latin1")
    assert [*XML.misfits(zurich, latin, {}), *XML.misfits(plain, source(), {})] == []
    assert XML.records(zurich, latin) == 1


def test_rows_of_another_prefix_or_case_are_told(tmp_path: Path) -> None:
    prefixed = file(tmp_path, '<x:rows xmlns:x="u"><x:Row/></x:rows>')
    (misfit,) = XML.misfits(prefixed, source(), {})
    assert "<x:Row>" in misfit
    assert [*XML.misfits(file(tmp_path, "<rows><head/></rows>"), source(), {})] == []


@pytest.mark.parametrize(
    ("options", "new"),
    [
        ({}, ["_x:kind", "who", "x:sum"]),
        ({"ignoreNamespace": True}, ["_kind", "who", "sum"]),
        ({"excludeAttribute": True}, ["who", "x:sum"]),
        ({"wildcardColName": "n"}, []),
    ],
)
def test_what_the_schema_does_not_name_is_listed(
    tmp_path: Path, options: dict[str, Any], new: list[str]
) -> None:
    row = '<row id="a" x:kind="k" xsi:nil="true"><N>1</N><who><deep/></who><x:sum>3</x:sum></row>'
    path = file(tmp_path, f'<rows xmlns:x="u">{row}</rows>')
    assert [*XML.new_columns(path, source(**options))] == new
