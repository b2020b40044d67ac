"""Rows of text files, decoded; text that is not in its encoding is told apart, never replaced.

Spark puts U+FFFD where bytes are not in the encoding, and says nothing (Spark 4.2).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import or_
from typing import TypeVar

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamReader
from pyspark.sql.types import StringType, StructField, StructType

from tidemill.engine.sources.columns import CORRUPT, ORIGIN, RECORD
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.format_schema import NESTED

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# With them Spark knows every encoding that Java knows, and does not fail where one does not fit.
_DECODING = {
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.codingErrorAction": "true",
}

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


def load_lines(
    reader: Reader, source: FileSource, schema: StructType, load: Callable[[Reader], DataFrame]
) -> DataFrame:
    """The lines of files, or with `multiLine` their whole texts.

    The text is in `_record`, beside the partition columns and `_origin`.

    A line that is not in the source's encoding is in `_corrupt` as well.

    Args:
        reader: Without format and schema.
        schema: The spec's, whose types partition columns get.
        load: Loads the files with the reader.
    """
    text = StructField(RECORD, StringType())
    options = {**source.reader_options, "encoding": source.encoding}
    if source.is_on("multiLine"):
        options["wholetext"] = "true"
    reader = reader.format("text").options(**options)
    lines = load(reader.schema(StructType([text])))
    found = {name.lower() for name in lines.columns}
    in_path: list[StructField] = [one for one in schema.fields if one.name.lower() in found]
    if in_path:
        # Only Spark knows which columns it takes from the path; now it gets their types.
        lines = load(reader.schema(StructType([text, *in_path])))
    with _decoding(lines.sparkSession):
        decoded, fits = _decoded(F.col(RECORD), source.encoding)
        corrupt = F.when(~fits, decoded) if source.undecodable == "reject" else F.lit(None)
        return lines.select(
            decoded.alias(RECORD),
            *[f"`{field.name}`" for field in in_path],
            corrupt.cast("string").alias(CORRUPT),
            F.col("_metadata.file_path").alias(ORIGIN),
        )


def one_column(lines: DataFrame, source: FileSource, schema: StructType) -> DataFrame:
    """The rows of text, which is the first column that is not in the path.

    Args:
        lines: From `load_lines`.
        source: As there.
        schema: As there.
    """
    in_path = {name.lower() for name in lines.columns}
    given = [name for name in schema.names if name.lower() not in in_path]
    return lines.withColumns({name: F.col(RECORD) for name in given[:1]})


def with_undecodable(rows: DataFrame, source: FileSource) -> DataFrame:
    """Parsed rows, of which one with a replaced character is malformed unless the spec keeps it.

    Args:
        rows: With `_corrupt`.
    """
    texts = [
        F.to_json(F.struct(F.col(f"`{name}`"))) if kind.name in NESTED else F.col(f"`{name}`")
        for name, kind in source.types.items()
        if kind.name in ("string", *NESTED)
    ]
    if source.undecodable == "replace" or not texts:
        return rows
    columns = [F.col(f"`{name}`") for name in source.columns]
    replaced = reduce(or_, (F.contains(text, F.lit(REPLACEMENT)) for text in texts))
    record = F.when(replaced, F.to_json(F.struct(*columns)))
    return rows.withColumn(CORRUPT, F.coalesce(F.col(CORRUPT), record))


def _decoded(text: Column, encoding: str) -> tuple[Column, Column]:
    """Bytes that Spark took for UTF-8, as text in their encoding, and whether all of them fit."""
    if encoding.lower().replace("-", "") == "utf8":
        return F.make_valid_utf8(text), F.is_valid_utf8(text)
    decoded = F.decode(text.cast("binary"), encoding)
    return decoded, ~F.contains(decoded, F.lit(REPLACEMENT))


@contextmanager
def _decoding(session: SparkSession) -> Iterator[None]:
    before = {name: str(session.conf.get(name)) for name in _DECODING}
    for name, value in _DECODING.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
