"""The value of a Kafka record: parsed by Spark's own functions, and whether it was all there is.

Spark's functions stop where the first JSON object or the first line ends and drop what follows
(tried with Spark 4.2). Two objects in one record would be one row and a silent loss; so what looks
like more is parsed once more, as a list.
"""

import json
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from tidemill.engine.sources.columns import CORRUPT, schema_of
from tidemill.engine.sources.framed_protobuf import decoded
from tidemill.engine.sources.framed_values import DATA, Writers, by_writer
from tidemill.engine.sources.json_objects import ObjectColumns, ends_with_object, with_object
from tidemill.engine.sources.new_fields import Found, all_fields
from tidemill.spec.sources.kafka_value import BINARY_RECORDS, READER_SCHEMA, KafkaValue


def parse(value: KafkaValue, writers: Writers | None = None) -> Column | None:
    """The value as a struct; None for the formats that are one column.

    The struct has the field `_corrupt`, or is null, where json and csv do not parse; avro and
    protobuf have the one field `record`, which is null then.

    Args:
        writers: The kept schemas, for values with a registry.
    """
    text = F.col("value").cast("string")
    if value.format == "json":
        return F.from_json(text, _schema(value), _options(value))
    if value.format == "csv":
        return F.from_csv(_line(text), _schema(value), _options(value))
    if value.format == "protobuf":
        known = writers or Writers()
        found = decoded(value, known.fitting)
        return by_writer(str(value.registry), known, lambda _: found, found)
    if value.format == "avro":
        options = {"mode": "PERMISSIVE", **value.reader_options}
        schema = str(value.schema_)
        if value.registry is not None:
            options[READER_SCHEMA] = _within(schema)
            return by_writer(
                value.registry,
                writers or Writers(),
                lambda writer: from_avro(F.expr(DATA), _within(str(writer.text)), options),
                from_avro("value", _within(schema), options),
            )
        if READER_SCHEMA in options:
            options[READER_SCHEMA] = _within(options[READER_SCHEMA])
        return from_avro("value", _within(schema), options)
    return None


def with_json_object(
    records: DataFrame, value: KafkaValue, names: ObjectColumns, further: Mapping[str, Column]
) -> DataFrame:
    """Records with the object that a value of json is, as by `parse` and `ends`.

    Args:
        names: Those of the new columns.
        further: Other columns that are computed once -> what they are.
    """
    text = F.col("value").cast("string")
    schema = schema_of(_schema(value), "sources.*.value.schema")
    return with_object(records, text, schema, _options(value), names, further, is_utf8=False)


def ends(value: KafkaValue) -> Column:
    """Whether nothing follows the object of a value of json; never null."""
    return ends_with_object(F.col("value").cast("string"), _lenient(value))


def fits(value: KafkaValue, parsed: str, ended: Column) -> Column:
    """Whether a value that is there has been parsed, and to its end; never null.

    Args:
        value: How it is read, as a format with a schema.
        parsed: The column with what `parse` made of it.
        ended: What `ends` says of it, where it is one of json.
    """
    if value.format in BINARY_RECORDS:
        return F.col(f"{parsed}.record").isNotNull()
    text = F.col("value").cast("string")
    whole = F.col(parsed).isNotNull() & F.col(f"{parsed}.{CORRUPT}").isNull()
    if value.format == "json":
        return whole & ended
    line = _line(text)
    rest = F.contains(line, F.lit("\n")) | F.contains(line, F.lit("\r")) | (F.trim(line) == "")
    # A line's end within quotes is as good as a blank; one between two records is not.
    joined = F.from_csv(F.translate(line, "\n\r", "  "), _schema(value), _options(value))
    one = (F.trim(line) != "") & joined.getField(CORRUPT).isNull()
    return whole & F.when(rest, one).otherwise(F.lit(True))


def fields_of(value: KafkaValue) -> Column:
    """Each field of a value of json, by its name."""
    return all_fields(F.col("value").cast("string"), _lenient(value))


def found_in(value: KafkaValue, fields: str) -> Found:
    """The fields of a value of json, of which its schema names some.

    Args:
        fields: The column with what `fields_of` made of it.
    """
    schema = schema_of(str(value.schema_), "sources.*.value.schema")
    return Found(F.col(fields), F.col("value").cast("string"), schema)


def raw(value: KafkaValue) -> Column:
    """The value as text, whatever is in it."""
    binary = value.format in (*BINARY_RECORDS, "binary")
    return F.base64("value") if binary else F.col("value").cast("string")


def _line(text: Column) -> Column:
    return F.rtrim(text, F.lit("\r\n"))


def _schema(value: KafkaValue) -> str:
    schema_of(str(value.schema_), "sources.*.value.schema")
    return f"{value.schema_}, {CORRUPT} string"


def _options(value: KafkaValue) -> dict[str, str]:
    return {**_lenient(value), "columnNameOfCorruptRecord": CORRUPT}


def _lenient(value: KafkaValue) -> dict[str, str]:
    return {**value.reader_options, "mode": "PERMISSIVE"}


def _within(schema: str) -> str:
    """A record as the only field of another, which has the same bytes.

    `from_avro` turns an unreadable value into a row of nulls, which may be data too; the
    field tells them apart.
    """
    field = {"name": "record", "type": json.loads(schema)}
    return json.dumps({"type": "record", "name": "tidemill_value", "fields": [field]})
