"""Rows of text, JSON and CSV: each that was delivered is good, or malformed with its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidemill.engine.sources.columns import CORRUPT, RECORD
from tidemill.engine.sources.file import read_batch
from tidemill.spec.sources.file import FileSource

SCHEMA = "k string, n int, `a.b` string, `in` struct<x: int>, v string, d double"
GOOD = {
    '{"k": "one", "n": 1, "in": {"x": 1}, "unknown": [1, {"k": 2}]}': ("one", 1),
    ' \t{"n": 2, "k": "k"} ': ("k", 2),
    '{"k": "\\u007d{", "n": 3, "a.b": "dotted", "v": "text", "d": NaN}': ("}{", 3),
    '{"k": "{\\"n\\": 1}{\\"n\\": 1}", "n": 4}': ('{"n": 1}{"n": 1}', 4),
    '{"K": "another case"}': (None, None),
    "{}": (None, None),
}
MALFORMED = [
    '{"k": "two", "n": 2}{"k": "three", "n": 3}',
    '{"k": "two"}, {"k": "three"}',
    '{"k": "two"} garbage',
    '{"in": {"x": 1}} garbage',
    '{"in": {"x": 1}}{"in": {"x": 1}}',
    '{"k": "two"}]',
    '{"k": "two"}}',
    '{"k": "two"}],[{"k": "three"}',
    '[{"k": "two"}]',
    '[{"k": "two"}, {"k": "three"}]',
    "[]",
    "null",
    "3",
    "garbage",
    "{",
    '{"n": "no number"}',
    '{"in": {"x": "no number"}}',
]


@pytest.fixture
def read(spark: Any, tmp_path: Path) -> Any:
    def rows_of(format: str, content: bytes, schema: str = "k string, n int", **more: Any) -> Any:
        path = tmp_path / "in" / "file"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        given = {"format": format, "path": str(path.parent), "schema": schema, **more}
        return read_batch(spark, FileSource.model_validate(given), [str(path)]).collect()

    return rows_of


def malformed(rows: Any) -> list[str]:
    return [row[CORRUPT] for row in rows if row[CORRUPT] is not None]


def good(rows: Any) -> list[tuple[Any, ...]]:
    return [(row["k"], row["n"]) for row in rows if row[CORRUPT] is None]


def test_a_line_of_json_is_one_object_or_is_malformed_with_its_text(read: Any) -> None:
    lines = [*MALFORMED, "", " ", *GOOD]
    rows = read("json", "\n".join(lines).encode(), SCHEMA)
    assert malformed(rows) == MALFORMED
    assert good(rows) == list(GOOD.values())
    assert [row[RECORD] for row in rows] == [*MALFORMED, *GOOD]
    (dotted,) = [row for row in rows if row["n"] == 3]
    assert (dotted["a.b"], dotted["v"]) == ("dotted", "text")


def test_lenient_options_are_still_sparks_own(read: Any) -> None:
    lines = [b"{'k': 'a', n: 01} // said", b"{'k': 'a'} {'k': 'b'}"]
    names = ("allowComments", "allowUnquotedFieldNames", "allowNumericLeadingZeros")
    rows = read("json", b"\n".join(lines), options=dict.fromkeys(names, True))
    assert good(rows) == [("a", 1)]
    assert malformed(rows) == [line.decode() for line in lines[1:]]


@pytest.mark.parametrize(
    ("format", "content"),
    [("csv", "k,n\n{},1\n{},2\n"), ("json", '{{"k": "{}", "n": 1}}\n{{"k": "{}", "n": 2}}\n')],
)
def test_bytes_of_another_encoding_are_malformed_unless_the_spec_replaces_them(
    read: Any, format: str, content: str
) -> None:
    text = content.format("plain", "Z\xfcrich")
    rows = read(format, text.encode("latin-1"))
    assert good(rows) == [("plain", 1)]
    assert "Z\ufffdrich" in malformed(rows)[0]
    rows = read(format, text.encode("latin-1"), undecodable="replace")
    assert good(rows) == [("plain", 1), ("Z\ufffdrich", 2)]
    rows = read(format, text.encode("latin-1"), options={"encoding": "ISO-8859-1"})
    assert good(rows) == [("plain", 1), ("Z\xfcrich", 2)]


def test_text_is_read_in_its_encoding(read: Any) -> None:
    text = "plain\nZ\xfcrich\n"
    rows = read("text", text.encode("latin-1"), "value string")
    assert [row["value"] for row in rows if row[CORRUPT] is None] == ["plain"]
    assert malformed(rows) == ["Z\ufffdrich"]
    for encoding in ("ISO-8859-1", "UTF-16LE"):
        options = {"encoding": encoding, "lineSep": "\n"}
        rows = read("text", text.encode(encoding), "value string", options=options)
        assert [row["value"] for row in rows] == ["plain", "Z\xfcrich"]
        assert malformed(rows) == []


def test_new_fields_are_rescued_of_each_object_of_an_array_and_of_what_is_read_leniently(
    read: Any,
) -> None:
    rescuing = {"new_fields": {"rescue": "rest"}}
    array = b'[{"k": "a", "x": {"y": 1}},\n {"k": "b", "n": "no number", "x": 1}, {"k": "c"}]'
    rows = read("json", array, options={"multiLine": True}, **rescuing)
    rescued = [(row["k"], row["rest"]) for row in rows if row[CORRUPT] is None]
    assert rescued == [("a", '{"x":{"y":1}}'), ("c", None)]
    (lenient,) = read(
        "json",
        b"{'k': 'a', x: 1} // said",
        options={"allowComments": True, "allowUnquotedFieldNames": True},
        **rescuing,
    )
    assert (lenient["rest"], lenient[CORRUPT]) == ('{"x":1}', None)
