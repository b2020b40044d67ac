"""Types of a DDL schema, without Spark."""

from __future__ import annotations

import pytest

from tidemill.contract.syntax.ddl import DdlType, column_types, refuse_unknown_types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", DdlType("int")),
        ("INTEGER", DdlType("int")),
        ("Long", DdlType("bigint")),
        ("string NOT NULL COMMENT 'who'", DdlType("string")),
        ("varchar(10)", DdlType("string")),
        ("timestamp_ltz", DdlType("timestamp")),
        ("timestamp_ntz", DdlType("timestamp_ntz")),
        ("decimal", DdlType("decimal", precision=10)),
        ("decimal(5)", DdlType("decimal", precision=5)),
        ("NUMERIC( 12 , 2 ) NOT NULL", DdlType("decimal", precision=12, scale=2)),
        ("array<int>", DdlType("array", items=DdlType("int"))),
        (
            "map<string, array<long>>",
            DdlType("map", keys=DdlType("string"), items=DdlType("array", items=DdlType("bigint"))),
        ),
        ("struct<>", DdlType("struct")),
        (
            "struct<a: int, `b c` struct<d: date NOT NULL>>",
            DdlType(
                "struct",
                fields={
                    "a": DdlType("int"),
                    "b c": DdlType("struct", fields={"d": DdlType("date")}),
                },
            ),
        ),
    ],
)
def test_a_type_is_told_whatever_way_it_is_written(text: str, expected: DdlType) -> None:
    assert column_types(f"x {text}") == {"x": expected}


def test_columns_keep_their_order_and_their_names() -> None:
    types = column_types("b: int, `a,b` decimal(3, 1), C string")
    assert list(types) == ["b", "a,b", "C"]
    assert types["a,b"] == DdlType("decimal", precision=3, scale=1)


def test_spark_reads_the_same_types(spark: object) -> None:
    from pyspark.sql.types import StructType

    ddl = (
        "a tinyint, b short, c integer, d long, e real, f double, g dec(7, 2), h numeric(9), "
        "i varchar(3), j char(2), k binary, l date, m timestamp, n timestamp_ntz, o boolean, "
        "p array<struct<q: map<string, byte>>>"
    )
    described = {field.name: field.dataType for field in StructType.fromDDL(ddl)}
    for name, kind in column_types(ddl).items():
        spelled = described[name].simpleString()
        if kind.name == "decimal":
            assert spelled == f"decimal({kind.precision},{kind.scale})"
        elif kind.name == "string":
            assert spelled in ("string", "varchar(3)", "char(2)")
        else:
            assert spelled.startswith(kind.name)


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        ("n integre", "'n' has the type 'integre'.*'integer'"),
        ("a int, tags array<struct<k: sting>>", "'tags' has the type 'sting'.*'string'"),
        ("m map<string, qqqq>", "'m' has the type 'qqqq', which Spark does not know$"),
        ("price decimal(50,2)", r"'price' is decimal\(50,2\)"),
        ("p array<dec(5, 8)>", r"'p' is decimal\(5,8\)"),
    ],
)
def test_a_type_that_spark_does_not_know_is_named_with_its_column(ddl: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        refuse_unknown_types(ddl)


@pytest.mark.parametrize(
    "ddl",
    [
        "a long, b VARCHAR(3), c char(2), d dec(10,2), e timestamp_ltz NOT NULL COMMENT 'x'",
        "a interval day to second, b variant, c void, d binary, e real, f time(6)",
        "`a b` struct<x: array<map<string, decimal(4,1)>>, y: boolean>",
    ],
)
def test_the_types_of_spark_are_known(ddl: str) -> None:
    refuse_unknown_types(ddl)
