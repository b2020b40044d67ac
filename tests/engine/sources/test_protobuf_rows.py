"""Protobuf messages become rows of the spec's columns, or it is told which field does not fit."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from pyspark import cloudpickle
from pyspark.sql import types as T

from tests.support.protobuf_schemas import GOOGLES, encoded, enum, framed, message, schema
from tidemill.engine.sources.framed_protobuf import send_by_value
from tidemill.engine.sources.protobuf_fields import Misfit, message_reader
from tidemill.engine.sources.protobuf_rows import Decoder, Writer, function_of, message_indexes

OTHER = "the value holds "
STATE = enum("State", "UNKNOWN", "PAID")
ADDRESS = message("Address", street="string")


def columns(**kinds: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in kinds.items()])


def writer(file: FileDescriptorProto, name: str | None = None) -> Writer:
    known = [one.serialized_pb for one in GOOGLES.values()]
    other = OTHER if name is None else None
    return Writer((*known, file.SerializeToString()), name, other)


def order_of(file: FileDescriptorProto) -> Descriptor:
    return writer(file).messages()[0,]


def read(
    file: FileDescriptorProto,
    kinds: T.StructType,
    row: dict[str, Any],
    kind: pa.DataType,
) -> Any:
    """The only column of a message `Order`."""
    result = pa.struct({"record": pa.struct({kinds.fields[0].name: kind}), "error": pa.string()})
    decoder = Decoder({7: writer(file)}, kinds, result)
    (found,) = decoder.decode(pa.array([framed(7, encoded(file, "shop.Order", row))])).to_pylist()
    assert found["error"] is None
    return found["record"][kinds.fields[0].name]


@pytest.mark.parametrize(
    ("written", "value", "kind", "arrow", "expected"),
    [
        ("int32", -5, T.IntegerType(), pa.int32(), -5),
        ("sint32", -5, T.LongType(), pa.int64(), -5),
        ("uint32", 2**32 - 1, T.LongType(), pa.int64(), 2**32 - 1),
        ("fixed64", 2**64 - 1, T.DecimalType(20, 0), pa.decimal128(20, 0), Decimal(2**64 - 1)),
        ("int64", 3, T.DecimalType(21, 2), pa.decimal128(21, 2), Decimal("3.00")),
        ("float", 0.5, T.DoubleType(), pa.float64(), 0.5),
        ("bool", True, T.BooleanType(), pa.bool_(), True),
        ("string", "ü", T.StringType(), pa.string(), "ü"),
        ("bytes", b"\xff", T.BinaryType(), pa.binary(), b"\xff"),
        ("shop.State", 1, T.StringType(), pa.string(), "PAID"),
        ("shop.State", 9, T.StringType(), pa.string(), "9"),
        ("shop.State", 1, T.IntegerType(), pa.int32(), 1),
        ("repeated int32", [1, 2], T.ArrayType(T.LongType()), pa.list_(pa.int64()), [1, 2]),
        (
            "map string int32",
            {"b": 2, "a": 1},
            T.MapType(T.StringType(), T.IntegerType()),
            pa.map_(pa.string(), pa.int32()),
            [("a", 1), ("b", 2)],
        ),
        (
            "google.protobuf.Timestamp",
            {"seconds": 1_772_359_200, "nanos": 1_500},
            T.TimestampType(),
            pa.timestamp("us", "UTC"),
            datetime(2026, 3, 1, 10, 0, 0, 1, UTC),
        ),
        (
            "shop.Address",
            {"street": "a"},
            columns(street=T.StringType()),
            pa.struct({"street": pa.string()}),
            {"street": "a"},
        ),
        # A field that is absent is null where its presence is told, and else its type's zero.
        ("int32", None, T.IntegerType(), pa.int32(), 0),
        ("string", None, T.StringType(), pa.string(), ""),
        ("shop.State", None, T.StringType(), pa.string(), "UNKNOWN"),
        ("optional int32", None, T.IntegerType(), pa.int32(), None),
        ("optional int32", 0, T.IntegerType(), pa.int32(), 0),
        ("repeated int32", None, T.ArrayType(T.IntegerType()), pa.list_(pa.int32()), []),
        ("google.protobuf.Timestamp", None, T.TimestampType(), pa.timestamp("us", "UTC"), None),
        ("google.protobuf.Int32Value", None, T.IntegerType(), pa.int32(), None),
        ("google.protobuf.Int32Value", {"value": 0}, T.LongType(), pa.int64(), 0),
    ],
)
def test_a_field_is_read_as_its_column(
    written: str, value: Any, kind: T.DataType, arrow: pa.DataType, expected: Any
) -> None:
    file = schema(message("Order", one=written), ADDRESS, STATE, imports=[*GOOGLES])
    row = {} if value is None else {"one": value}

    assert read(file, columns(one=kind), row, arrow) == expected


def test_a_default_of_proto2_stands_for_an_absent_field() -> None:
    order = message("Order", quantity="int32")
    order.field[0].default_value = "3"

    assert (
        read(
            schema(order, syntax="proto2"),
            columns(quantity=T.IntegerType()),
            {},
            pa.int32(),
        )
        == 3
    )


@pytest.mark.parametrize(
    ("written", "kind", "at"),
    [
        ("int64", T.IntegerType(), "one"),
        ("uint64", T.LongType(), "one"),
        ("int64", T.DecimalType(18, 0), "one"),
        ("uint32", T.IntegerType(), "one"),
        ("double", T.FloatType(), "one"),
        ("int64", T.TimestampType(), "one"),
        ("string", T.BinaryType(), "one"),
        ("bytes", T.StringType(), "one"),
        ("repeated int32", T.IntegerType(), "one"),
        ("int32", T.ArrayType(T.IntegerType()), "one"),
        ("map string int32", T.StringType(), "one"),
        ("google.protobuf.Timestamp", T.StringType(), "one"),
        ("shop.Address", columns(street=T.LongType()), "one.street"),
        ("shop.Address", columns(town=T.StringType()), "one"),
    ],
)
def test_a_field_that_does_not_fit_is_told(written: str, kind: T.DataType, at: str) -> None:
    file = schema(message("Order", one=written), ADDRESS, imports=[*GOOGLES])
    with pytest.raises(Misfit) as misfit:
        message_reader(order_of(file), columns(one=kind))
    assert misfit.value.field == at


def test_a_message_without_any_of_the_columns_does_not_fit() -> None:
    order = order_of(schema(message("Order", one="int32")))
    with pytest.raises(Misfit) as misfit:
        message_reader(order, columns(two=T.IntegerType()))
    assert misfit.value.field == ""
    assert message_reader(order, columns(one=T.IntegerType(), two=T.IntegerType()))


def test_a_required_column_that_the_message_lacks_does_not_fit() -> None:
    order = order_of(schema(message("Order", one="int32")))
    two = T.StructType([T.StructField("two", T.IntegerType(), nullable=False)])
    with pytest.raises(Misfit) as misfit:
        message_reader(order, T.StructType([*columns(one=T.IntegerType()).fields, *two.fields]))
    assert misfit.value.field == "two"


def test_files_that_do_not_go_together_do_not_fit() -> None:
    with pytest.raises(Misfit):
        writer(schema(message("Order", to="shop.Address"))).messages()


def test_values_of_other_messages_are_told_and_broken_ones_are_nothing() -> None:
    parcel = message("Parcel", id="string")
    parcel.nested_type.append(message("Box", id="string"))
    # Not in the order of their names.
    file = schema(parcel, message("Order", id="string"))
    data = encoded(file, "shop.Parcel", {"id": "a"})
    values = [
        framed(7, data),
        framed(7, data, indexes=b"\x02\0"),
        framed(7, data, indexes=b"\x02\x02"),
        framed(7, data, indexes=b"\x04\0\0"),
        framed(7, data, indexes=b"\x02\x10"),
        framed(7, data, indexes=b"\x80"),
        framed(7, data)[:-1],
        framed(7, data)[:5],
        framed(8, data),
        b"\1",
        None,
    ]
    result = pa.struct({"record": pa.struct({"id": pa.string()}), "error": pa.string()})
    decoder = Decoder({7: writer(file)}, columns(id=T.StringType()), result)

    found = decoder.decode(pa.array(values)).to_pylist()

    right = {"record": {"id": "a"}, "error": None}
    others = [{"record": None, "error": f"{OTHER}'{n}'"} for n in ("shop.Order", "shop.Parcel.Box")]
    assert found == [right, right, *others, *[{"record": None, "error": None}] * 7]
    for name, read in (("shop.Order", 2), ("shop.Parcel.Box", 3), ("shop.Crate", None)):
        named = Decoder({7: writer(file, name)}, columns(id=T.StringType()), result)
        nothing: list[Any] = [{"record": None, "error": None}] * len(values)
        if read is not None:
            nothing[read] = right
        assert named.decode(pa.array(values)).to_pylist() == nothing


@pytest.mark.parametrize("time", [{"seconds": 253_402_300_800}, {"seconds": 0, "nanos": -1}])
def test_a_time_beyond_what_timestamp_allows_is_malformed(time: dict[str, int]) -> None:
    file = schema(message("Order", at="google.protobuf.Timestamp"), imports=[*GOOGLES])
    kind = pa.struct({"at": pa.timestamp("us", "UTC")})
    result = pa.struct({"record": kind, "error": pa.string()})
    decoder = Decoder({7: writer(file)}, columns(at=T.TimestampType()), result)
    value = framed(7, encoded(file, "shop.Order", {"at": time}))
    assert decoder.decode(pa.array([value])).to_pylist() == [{"record": None, "error": None}]


def test_indexes_are_zigzag_numbers_behind_their_count() -> None:
    assert message_indexes(b"\0data") == ((0,), b"data")
    assert message_indexes(b"\x04\x02\xac\x02data") == ((1, 150), b"data")


def test_a_worker_decodes_without_tidemill(tmp_path: Path) -> None:
    result = pa.struct({"record": pa.struct({"id": pa.string()}), "error": pa.string()})
    file = schema(message("Order", id="string"))
    decoder = Decoder({7: writer(file)}, columns(id=T.StringType()), result)
    send_by_value()
    (tmp_path / "function").write_bytes(cloudpickle.dumps(function_of(decoder)))
    (tmp_path / "value").write_bytes(framed(7, encoded(file, "shop.Order", {"id": "a"})))
    worker = (
        "import sys; sys.modules['tidemill'] = None\n"
        "import pyarrow as pa; from pathlib import Path; from pyspark import cloudpickle\n"
        "decode = cloudpickle.loads(Path('function').read_bytes())\n"
        "print(decode(pa.array([Path('value').read_bytes()])).to_pylist())\n"
    )

    said = subprocess.run([sys.executable, "-c", worker], cwd=tmp_path, capture_output=True)

    assert said.stdout.decode().strip() == str([{"record": {"id": "a"}, "error": None}])
