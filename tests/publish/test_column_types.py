"""Each cell of the table of column types is true, alone and nested."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions
from py4j.protocol import Py4JJavaError

from tidemill.file_formats.parquet import read_footer
from tidemill.publish import encoding
from tidemill.publish.database.mariadb_session import MariaDbSession
from tidemill.publish.database.postgres_session import PostgresSession
from tidemill.publish.delta.statistics import delta_statistics
from tidemill.publish.delta.table_schema import born_schema, check_file
from tidemill.spec.column_types import FORMATS, PLACES, TABLE, TYPES, TypeRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHAPES = {
    "alone": ("{}", ()),
    "in_array": ("array({})", ("array",)),
    "in_map": ("map('k', {})", ("map",)),
    "in_struct": ("named_struct('a', {})", ("struct",)),
}
WRITERS = {
    "orc": "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
    "avro": "org.apache.spark.sql.avro.AvroFileFormat",
    "json": "org.apache.spark.sql.execution.datasources.json.JsonFileFormat",
    "csv": "org.apache.spark.sql.execution.datasources.csv.CSVFileFormat",
}
RULES = [rule for rule in TYPES if rule.example]


@dataclass
class Written:
    """The columns of some types, alone and nested, in one Parquet file of Spark's.

    Args:
        path: The file; None where Spark does not write them.
        schema: Spark's JSON schema of it.
        values: Column -> its value.
    """

    path: Path | None
    schema: dict[str, Any]
    values: dict[str, Any]

    def fields(self, *columns: str) -> dict[str, Any]:
        some = [one for one in self.schema["fields"] if one["name"] in columns or not columns]
        return {"type": "struct", "fields": some}

    def arrow(self, *columns: str) -> pa.Schema:
        """The columns as a payload has them."""
        return pa.schema(born_schema(self.fields(*columns)).to_arrow())

    def table(self, *columns: str) -> DeltaTable:
        """A table of the file with some of its columns, published as an increment is."""
        assert self.path is not None
        root = self.path.parent / f"table-{columns[0]}-{len(columns)}"
        if not root.exists():
            footer, schema = read_footer(self.path), self.arrow(*columns)
            check_file(self.path, footer, born_schema(self.schema), ())
            root.mkdir()
            (root / self.path.name).hardlink_to(self.path)
            stats = delta_statistics(footer, schema.names)
            add = AddAction(self.path.name, footer.size, {}, 0, data_change=True, stats=stats)
            create_table_with_add_actions(str(root), Schema.from_arrow(schema), [add], "error", [])
        return DeltaTable(root)


def columns_of(rule: TypeRule) -> dict[str, str]:
    """Column -> what it selects, for a type alone and nested."""
    number = TYPES.index(rule)
    mark = f"c{number}_{rule.name.rpartition('_')[2]}" if rule.in_maps else f"c{number}"
    return {f"{mark}_{name}": sql.format(rule.example) for name, (sql, _) in SHAPES.items()}


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Written]:
    """Type -> its file: one for all that every reader holds, one for each other."""
    root = tmp_path_factory.mktemp("types")
    whole = [rule for rule in RULES if not rule.cannot.intersection(TABLE)]
    found = dict.fromkeys((rule.name for rule in whole), _write(spark, whole, root / "whole"))
    for number, rule in enumerate(RULES):
        if rule not in whole:
            found[rule.name] = _write(spark, [rule], root / str(number))
    return found


def _write(spark: SparkSession, rules: list[TypeRule], folder: Path) -> Written:
    from pyspark.errors import AnalysisException

    columns = {name: sql for rule in rules for name, sql in columns_of(rule).items()}
    rows = spark.sql("SELECT " + ", ".join(f"{sql} AS {name}" for name, sql in columns.items()))
    schema = rows.schema.jsonValue()
    try:
        rows.coalesce(1).write.parquet(str(folder))
    except AnalysisException:
        return Written(None, schema, {})
    (path,) = folder.glob("*.parquet")
    return Written(path, schema, _values(rows))


def _values(rows: DataFrame) -> dict[str, Any]:
    from pyspark.errors import PySparkException

    try:
        (row,) = rows.toArrow().to_pylist(maps_as_pydicts="strict")
    except PySparkException:
        return {}
    return {name: plain(value) for name, value in row.items()}


def plain(value: Any) -> Any:
    """A value in the words that all readers have: of a map some make a list of pairs."""
    if isinstance(value, np.datetime64 | datetime):
        return pd.Timestamp(value).tz_localize(None).to_pydatetime()
    if isinstance(value, np.ndarray):
        value = list(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        if value and isinstance(value[0], tuple):
            return {name: plain(one) for name, one in value}
        if value and isinstance(value[0], dict) and set(value[0]) == {"key", "value"}:
            return {one["key"]: plain(one["value"]) for one in value}
        return [plain(one) for one in value]
    return value


def by_delta(one: Written, name: str, spark: SparkSession) -> Any:
    return one.table(name).to_pyarrow_table()[name][0].as_py()


def by_pandas(one: Written, name: str, spark: SparkSession) -> Any:
    return one.table(name).to_pandas()[name][0]


def by_polars(one: Written, name: str, spark: SparkSession) -> Any:
    return pl.scan_delta(one.table(name).table_uri).collect().to_arrow()[name][0].as_py()


def by_duckdb(one: Written, name: str, spark: SparkSession) -> Any:
    found = duckdb.read_parquet(one.table(name).file_uris()).select(name)
    return found.arrow().read_all()[name][0].as_py()


def by_spark(one: Written, name: str, spark: SparkSession) -> Any:
    """As the README has it; all columns of a file that a table can have at once."""
    one.table(name)
    names = [other for other in one.values if not other.endswith("_ntz_in_map")]
    assert one.path is not None
    return _spark_rows(one.path, one.table(*names).schema().to_json(), spark)[name]


@cache
def _spark_rows(path: Path, columns: str, spark: SparkSession) -> dict[str, Any]:
    from pyspark.sql.types import StructType

    return _values(spark.read.schema(StructType.fromJson(json.loads(columns))).parquet(str(path)))


def by_postgres(one: Written, name: str, spark: SparkSession) -> Any:
    return _stored(one, name, PostgresSession, spark)


def by_mariadb(one: Written, name: str, spark: SparkSession) -> Any:
    return _stored(one, name, MariaDbSession, spark)


def _stored(one: Written, name: str, session: Any, spark: SparkSession) -> Any:
    kind = one.arrow(name).field(name).type
    session.type_of(None, kind, key=False)
    return by_kafka(one, name, spark) if encoding.is_nested(kind) else by_delta(one, name, spark)


def by_kafka(one: Written, name: str, spark: SparkSession) -> Any:
    column = one.table(name).to_pyarrow_table()[name].combine_chunks()
    chunk = pa.record_batch([column.cast(one.arrow(name).field(name).type)], names=[name])
    (text,) = encoding.json_objects(chunk, [name])
    return one.values[name] if json.loads(text)[name] is not None else None


HOLD: dict[str, Callable[[Written, str, SparkSession], Any]] = {
    "Delta": by_delta,
    "pandas": by_pandas,
    "Polars": by_polars,
    "DuckDB": by_duckdb,
    "Spark": by_spark,
    "PostgreSQL": by_postgres,
    "MariaDB": by_mariadb,
    "Kafka": by_kafka,
}


def held(rule: TypeRule, one: Written, place: str, spark: SparkSession) -> Iterator[str]:
    """The shapes of a type that a place holds as they are."""
    for shape, name in zip(SHAPES, columns_of(rule), strict=True):
        if place in FORMATS:
            if _is_written(rule, one, name, place, spark):
                yield shape
        elif one.path is not None:
            try:
                value = plain(HOLD[place](one, name, spark))
            except Exception:  # noqa: BLE001, S112
                # Each reader says in its own way that it cannot.
                continue
            if value == one.values[name]:
                yield shape


def _is_written(rule: TypeRule, one: Written, column: str, form: str, spark: SparkSession) -> bool:
    """Whether Spark writes a column in a format: by the format's own word, or by trying."""
    from pyspark.errors import PySparkException

    if form == "parquet":
        return one.path is not None
    jvm = spark._jvm
    # A collation stands beside the type, in the field's metadata.
    schema = jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(one.fields(column)))
    source = jvm.org.apache.spark.util.Utils.classForName(WRITERS[form], True, False)
    said = bool(source.newInstance().supportDataType(schema.apply(0).dataType()))
    if said and form in rule.cannot:
        # Spark refuses some types elsewhere than in the format.
        rows = spark.sql(f"SELECT {columns_of(rule)[column]} AS c").coalesce(1)
        with TemporaryDirectory() as folder:
            try:
                rows.write.mode("overwrite").format(form).save(folder)
            except (PySparkException, Py4JJavaError):
                return False
    return said


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_place_holds_the_types_that_the_table_says(
    rule: TypeRule, place: str, written: Mapping[str, Written], spark: SparkSession
) -> None:
    says = [
        name for name, (_, within) in SHAPES.items() if place not in rule.places_without(within)
    ]
    assert list(held(rule, written[rule.name], place, spark)) == says
