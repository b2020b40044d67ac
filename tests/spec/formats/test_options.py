"""Options of Spark's file formats: known ones pass, all others are refused with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from tidemill.spec.formats.rules import LOSSY
from tidemill.spec.formats.table import FORMATS

VALUES = {
    "linesep": "\n",
    "encoding": "utf-8",
    "charset": "utf-8",
    "compression": "none",
    "codec": "none",
    "escapequotes": "true",
    "pretty": "false",
}
OBJECTS = {
    "csv": "catalyst.csv.CSVOptions",
    "json": "catalyst.json.JSONOptions",
    "parquet": "execution.datasources.parquet.ParquetOptions",
    "orc": "execution.datasources.orc.OrcOptions",
    "text": "execution.datasources.text.TextOptions",
    "avro": "avro.AvroOptions",
    "xml": "catalyst.xml.XmlOptions",
}


@pytest.mark.parametrize("option", ["SEP", "wholeText", "lineSep", "PathGlobFilter", "timezone"])
def test_an_option_is_known_in_any_case(option: str) -> None:
    formats = [one for one in FORMATS if FORMATS[one].reader_option_refused(option) is None]
    assert formats


@pytest.mark.parametrize(
    ("option", "format", "hint"),
    [
        ("seperator", "csv", "sep"),
        ("multiline_", "json", "multiLine"),
        ("wholetxt", "text", "wholetext"),
        ("recursiveLookup", "orc", "recursiveFileLookup"),
        ("sep", "json", "lineSep"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_known(
    option: str, format: str, hint: str
) -> None:
    refused = FORMATS[format].reader_option_refused(option)
    assert refused is not None
    assert f"'{hint}'" in refused


@pytest.mark.parametrize(
    ("option", "format"),
    [
        ("path", "csv"),
        ("MODE", "json"),
        ("columnNameOfCorruptRecord", "csv"),
        ("maxFilesPerTrigger", "text"),
        ("cleanSource", "parquet"),
        ("modifiedBefore", "csv"),
        ("modifiedAfter", "orc"),
        ("inferSchema", "csv"),
        ("mergeSchema", "parquet"),
        ("quoteAll", "csv"),
        ("compression", "json"),
        ("enableDateTimeParsingFallback", "json"),
        ("multiLine", "xml"),
        ("rowValidationXSDPath", "xml"),
        ("useLegacyXMLParser", "xml"),
        ("rootTag", "xml"),
    ],
)
def test_an_option_without_effect_is_refused_with_the_reason(option: str, format: str) -> None:
    refused = FORMATS[format].reader_option_refused(option)
    assert refused is not None
    assert "has no place here" in refused


@pytest.mark.parametrize(
    ("option", "format"),
    [
        ("header", "csv"),
        ("parquet.block.size", "parquet"),
        ("orc.bloom.filter.columns", "orc"),
        ("avroSchema", "avro"),
        ("sortKeys", "json"),
    ],
)
def test_a_writer_takes_the_options_of_writing(option: str, format: str) -> None:
    assert FORMATS[format].writer_option_refused(option, "x") is None


@pytest.mark.parametrize(
    ("option", "format"),
    [
        ("multiLine", "csv"),
        ("path", "json"),
        ("retention", "parquet"),
        ("wholetext", "text"),
        ("checkpointLocation", "orc"),
        ("samplingRatio", "json"),
        ("compresion", "csv"),
    ],
)
def test_a_writer_refuses_all_others(option: str, format: str) -> None:
    assert FORMATS[format].writer_option_refused(option, "x") is not None


@pytest.mark.parametrize(
    ("option", "value", "format"),
    [
        ("lineSep", "|", "csv"),
        ("encoding", "UTF-16", "json"),
        ("compression", "snappy", "text"),
        ("escapeQuotes", "false", "csv"),
        ("quote", "", "csv"),
        ("pretty", "true", "json"),
    ],
)
def test_a_writer_leaves_rows_that_can_be_told_apart(option: str, value: str, format: str) -> None:
    assert FORMATS[format].writer_option_refused(option, value) is not None


@pytest.mark.parametrize(
    ("option", "value", "format"),
    [
        ("lineSep", "\r\n", "csv"),
        ("encoding", "utf-8", "json"),
        ("compression", "GZIP", "text"),
        ("compression", "zstd", "orc"),
        ("quote", "'", "csv"),
    ],
)
def test_a_writer_takes_what_leaves_them_so(option: str, value: str, format: str) -> None:
    assert FORMATS[format].writer_option_refused(option, value) is None


@pytest.mark.parametrize("format", FORMATS)
def test_every_option_that_spark_knows_has_its_place(spark: Any, format: str) -> None:
    known = _options(spark, OBJECTS[format])
    if format == "avro" and not known:
        pytest.skip("Spark's avro jar is not configured")
    ours = {"columnNameOfCorruptRecord", "mode"}
    placed = {
        option
        for option in known - ours
        if FORMATS[format].reader_option_refused(option) is None
        or FORMATS[format].writer_option_refused(option, VALUES.get(option.lower(), "x")) is None
        or option in FORMATS[format].inference_options
        or option in FORMATS[format].not_for_reading
    }
    assert known - ours == placed


@pytest.mark.parametrize("format", FORMATS)
def test_every_option_of_sparks_file_lists_has_its_place(spark: Any, format: str) -> None:
    index = _options(spark, "execution.datasources.FileIndexOptions")
    assert index
    for option in index:
        refused = FORMATS[format].reader_option_refused(option)
        assert refused is None or option in ("modifiedbefore", "modifiedafter")
    assert all(FORMATS[format].reader_option_refused(option) is None for option in LOSSY)


def _options(spark: Any, name: str) -> set[str]:
    """What one of Spark's classes says of its options."""
    jvm = spark._jvm
    try:
        found = getattr(jvm.org.apache.spark.sql, name.split(".")[0])
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        return set(jvm.scala.jdk.javaapi.CollectionConverters.asJava(found.getAllOptions()))
    except TypeError:
        return set()
