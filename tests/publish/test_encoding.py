"""Values as JSON: whatever can be published, as `json` reads it back."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tidemill.publish.encoding import TypeUnfit, csv_lines, json_objects, json_texts, plain_texts

STRUCT = pa.struct([("a b", pa.int8()), ('"', pa.list_(pa.date32()))])
NESTED = pa.map_(pa.date32(), pa.list_(STRUCT))
NOON = datetime(2024, 1, 2, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (pa.bool_(), True, "true"),
        (pa.int64(), -(2**63), str(-(2**63))),
        (pa.float64(), 0.1 + 0.2, "0.30000000000000004"),
        (pa.float64(), math.nan, '"NaN"'),
        (pa.float32(), -math.inf, '"-Infinity"'),
        (pa.decimal128(38, 18), Decimal("1E-18"), "0.000000000000000001"),
        (pa.string(), '"\\\n\0é🙂', r'"\"\\\n\u0000é🙂"'),
        (pa.binary(), b"\0\xff", '"AP8="'),
        (pa.date32(), date(2024, 1, 2), '"2024-01-02"'),
        (pa.timestamp("us", "UTC"), NOON, '"2024-01-02T12:30:00.000000Z"'),
        (pa.timestamp("us"), NOON.replace(tzinfo=None), '"2024-01-02T12:30:00.000000"'),
        (pa.date32(), 3_673_000, '"+12026-05-02"'),
        (pa.date32(), -719_528, '"0000-01-01"'),
        (pa.date32(), -735_600, '"-0045-12-31"'),
        (pa.timestamp("us", "UTC"), 317_334_243_723_000_001, '"+12025-12-03T01:02:03.000001Z"'),
        (pa.timestamp("us"), -1, '"1969-12-31T23:59:59.999999"'),
        (pa.list_(pa.timestamp("us")), [-62_167_219_200_000_000], '["0000-01-01T00:00:00.000000"]'),
        (pa.list_(pa.bool_()), [False, None], "[false,null]"),
        (STRUCT, {"a b": None, '"': [date(2024, 1, 2)]}, r'{"a b":null,"\"":["2024-01-02"]}'),
        (pa.map_(pa.int8(), pa.string()), [(1, None), (2, "")], '{"1":null,"2":""}'),
    ],
    ids=str,
)
def test_a_value_of_every_type(kind: pa.DataType, value: Any, written: str) -> None:
    (found, nothing) = json_texts(pa.array([value, None], kind)).to_pylist()
    assert (found, nothing) == (written, None)
    json.loads(found)


def test_nested_as_deep_as_it_gets() -> None:
    value = [(date(2024, 1, 2), [{"a b": 1, '"': []}, None])]
    (found,) = json_texts(pa.array([value], NESTED)).to_pylist()
    assert json.loads(found) == {"2024-01-02": [{"a b": 1, '"': []}, None]}


def test_text_without_quotes() -> None:
    column = pa.array([NOON, None], pa.timestamp("us", "UTC"))
    assert list(plain_texts(column)) == ["2024-01-02T12:30:00.000000Z", None]
    assert list(plain_texts(pa.array(['"', ""]))) == ['"', ""]


def test_rows_have_their_columns_in_the_given_order() -> None:
    chunk = pa.RecordBatch.from_pydict({"a": [1, None], "%s {}": ["x", ""], "c": [0, 0]})
    columns = ["%s {}", "a"]
    assert list(json_objects(chunk, columns)) == ['{"%s {}":"x","a":1}', '{"%s {}":"","a":null}']
    assert list(csv_lines(chunk, columns)) == ["x,1", '"",']


@pytest.mark.parametrize("kind", [pa.null(), pa.large_string(), pa.list_(pa.null())], ids=str)
def test_a_type_that_is_never_published_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(TypeUnfit) as refused:
        json_texts(pa.nulls(1, kind))
    assert refused.value.type_given in str(kind)
