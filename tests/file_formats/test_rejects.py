"""The rejected rows of a file, in whatever way its format could hold them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.support.avro_file import CODECS, write_avro
from tidemill.file_formats.reader import REJECT_TYPE, NotWhole
from tidemill.file_formats.table import READERS
from tidemill.file_formats.written_format import WriteFormat

ROWS: list[dict[str, Any]] = [
    {
        "reason": "malformed",
        "file": "file:///in/a.csv",
        "record": 'a,"b\n\\"',
        "partition": {"day": "2026-03-01", "shop": None},
    },
    {"reason": "rule some", "file": "f", "record": '{"id":"\\u0001\\\\"}', "partition": None},
]


def written(format: str, **options: str) -> WriteFormat:
    return WriteFormat.model_validate({"format": format, "options": options})


def spelled(row: dict[str, Any]) -> str:
    """As Spark's `to_json` writes it: without nulls."""
    return json.dumps({k: v for k, v in row.items() if v is not None}, separators=(",", ":"))


def csv_field(text: str, escape: str) -> str:
    """As Spark's CSV writer quotes a text."""
    escaped = text if escape == '"' else text.replace(escape, escape * 2)
    return '"' + escaped.replace('"', f'{escape}"') + '"'


def write(path: Path, way: WriteFormat) -> None:
    typed = pa.array(
        [{**row, "partition": row["partition"] and list(row["partition"].items())} for row in ROWS],
        REJECT_TYPE,
    )
    table = pa.table({"id": pa.nulls(2, pa.string()), "_reject": typed})
    separator = way.option("lineSep", "\n")
    if way.format == "parquet":
        pq.write_table(table, path)
    elif way.format == "orc":
        orc.write_table(table, str(path))
    elif way.format == "avro":
        fields = {"id": ["null", "string"], "_reject": ["null", "string"]}
        write_avro(path, fields, [{"id": None, "_reject": spelled(row)} for row in ROWS])
    elif way.format == "json":
        lines = [f'{{"_reject":{spelled(row)}}}' for row in ROWS]
        path.write_text("".join(line + separator for line in lines))
    elif way.format == "text":
        path.write_text("".join(spelled(row) + separator for row in ROWS))
    else:
        fields_of = [f",{csv_field(spelled(row), way.option('escape', chr(92)))}" for row in ROWS]
        header = ["id,_reject"] if way.option("header", "false") == "true" else []
        path.write_text("".join(line + separator for line in [*header, *fields_of]))


@pytest.mark.parametrize(
    "way",
    [
        written("parquet"),
        written("orc"),
        written("avro"),
        written("json"),
        written("json", lineSep="\r\n"),
        written("text"),
        written("csv"),
        written("csv", header="true", escape='"'),
    ],
)
def test_reasons_and_records_come_back_as_they_were(tmp_path: Path, way: WriteFormat) -> None:
    path = tmp_path / "part"
    write(path, way)
    found = READERS[way.format].rejects(path, way)
    assert found.type == REJECT_TYPE or way.format == "parquet"
    expected = [
        {**row, "partition": row["partition"] and list(row["partition"].items())} for row in ROWS
    ]
    if way.format not in ("parquet", "orc"):
        # JSON leaves out what is null, in a map too.
        expected[0]["partition"] = [("day", "2026-03-01"), ("shop", None)]
    assert found.to_pylist() == expected


@pytest.mark.parametrize("codec", CODECS)
def test_rejected_rows_are_read_whatever_compresses_them(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "part.avro"
    reasons = [f"text {number} é" * number for number in range(50)]
    fields = {"id": ["null", "long"], "_reject": ["null", "string"]}
    rows = [{"id": None, "_reject": spelled({"reason": reason})} for reason in reasons]
    write_avro(path, fields, [*rows, {"id": None, "_reject": None}], block_bytes=300, codec=codec)
    found = READERS["avro"].rejects(path, written("avro")).to_pylist()
    assert [reject and reject["reason"] for reject in found] == [*reasons, None]


def test_a_row_that_was_not_rejected_is_not_skipped(tmp_path: Path) -> None:
    path = tmp_path / "part.avro"
    fields = {"id": ["null", "long"], "_reject": ["null", "string"]}
    write_avro(path, fields, [{"id": 7, "_reject": "{}"}])
    with pytest.raises(NotWhole):
        READERS["avro"].rejects(path, written("avro"))
