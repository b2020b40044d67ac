"""The shipped pipeline `activity` over its own sample, against plain Python."""

from __future__ import annotations

import json
import math
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from tests.support.pipelines.shipped_pipeline import Shipped
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.ledger.ledger import Ledger
from tidemill.samples.activity import write_file

FILES = range(1, 4)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def expected(row: dict[str, Any]) -> dict[str, Any] | None:
    """A line of a file as it is published; None where it is rejected."""
    reading = [row["reading"][axis] for axis in "xyz"]
    if row["gt"] == "fly" or "up" in reading or row["Arrival_Time"] is None:
        return None
    arrived = datetime.fromisoformat(row["Arrival_Time"])
    single = (struct.unpack("f", struct.pack("f", value))[0] for value in reading)
    return {
        "user": row["User"],
        "index": row["Index"],
        "arrived": arrived,
        "created": EPOCH + timedelta(microseconds=row["Creation_Time"] // 1000),
        "activity": None if row["gt"] == "null" else row["gt"],
        **row["phone"],
        "reading": dict(zip("xyz", single, strict=True)),
        "strength": math.sqrt(sum(value * value for value in reading)),
        "tags": row["tags"],
        "day": arrived.date(),
    }


def test_nested_readings_are_published_under_their_new_names_and_types(
    tmp_path: Path, spark: object
) -> None:
    phones = Shipped("activity", tmp_path)
    folder = phones.input / "activity"
    lines = [line for n in FILES for line in write_file(folder, n).read_text().splitlines()]
    phones.run()
    assert phones.kind is PipelineClass.MAP

    batches = Ledger(phones.pipeline.layout, FIRST_GENERATION).batches()
    assert [len(batch.inputs) for batch in batches] == [1] * len(FILES)
    rows = [expected(json.loads(line)) for line in lines]
    good = [row for row in rows if row is not None]
    table = DeltaTable(phones.pipeline.layout.table).to_pyarrow_table()
    assert sorted(table.to_pylist(), key=index) == sorted(good, key=index)
    floats = pa.struct([(axis, pa.float32()) for axis in "xyz"])
    assert table.schema.field("reading").type == floats
    assert len(phones.rejected()) == len(rows) - len(good) > 0


def index(row: dict[str, Any]) -> int:
    """The number of a reading, which no other has."""
    return int(row["index"])
