"""A file source's own rules: what Spark would refuse late, or pass over, is refused at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.contract.syntax.ddl import DdlType
from tidemill.spec.formats.rules import WITH_DATE
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec

SINK = "sink: {kind: console}\n"


def spec(more: str, rest: str = "", **replace: str) -> Spec:
    text = {"    format: csv": f"    format: csv\n{more}"} | replace
    return parse(minimal(rest, replace=text))


def source(more: str, rest: str = "", **replace: str) -> FileSource:
    found = spec(more, rest, **replace).sources["orders"]
    assert isinstance(found, FileSource)
    return found


def refused(more: str, rest: str = "") -> SpecError:
    with pytest.raises(SpecError) as error:
        source(more, rest)
    return error.value


def test_both_limits_are_refused_as_spark_does() -> None:
    error = refused("    maxFilesPerTrigger: 1\n    maxBytesPerTrigger: 1 MiB")
    assert error.field == "sources.orders.maxBytesPerTrigger"
    assert error.line == 6


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ("    cleanSource: archive", "cleanSource"),
        ("    sourceArchiveDir: /archive", "cleanSource"),
        ("    cleanSource: delete\n    sourceArchiveDir: /archive", "cleanSource"),
        ("    cleanSource: archive\n    sourceArchiveDir: /in/orders", "sourceArchiveDir"),
        ("    cleanSource: archive\n    sourceArchiveDir: /in/orders/done", "sourceArchiveDir"),
        ("    cleanSource: archive\n    sourceArchiveDir: done", "sourceArchiveDir"),
        ("    cleanSource: archive\n    sourceArchiveDir: /in/../in/orders", "sourceArchiveDir"),
    ],
)
def test_an_archive_without_a_place_of_its_own_is_refused(more: str, field: str) -> None:
    assert refused(more).field == f"sources.orders.{field}"


def test_an_archive_beside_the_source_is_fine() -> None:
    found = source("    cleanSource: archive\n    sourceArchiveDir: /in/orders-done")
    assert found.sourceArchiveDir == "/in/orders-done"


def test_of_a_glob_the_whole_fixed_part_is_the_source() -> None:
    with pytest.raises(SpecError) as error:
        parse(
            minimal(
                replace={
                    "    path: /in/orders": "    path: /in/*/orders\n    cleanSource: archive\n"
                    "    sourceArchiveDir: /in/done"
                }
            )
        )
    assert error.value.field == "sources.orders.sourceArchiveDir"


@pytest.mark.parametrize("option", ["ignoreCorruptFiles", "IGNOREMISSINGFILES"])
def test_nothing_that_was_read_with_gaps_is_published(option: str) -> None:
    more = f"    options: {{{option}: true}}"
    assert refused(more).field.lower() == f"sources.orders.options.{option}".lower()
    assert source(more, SINK).lossy_options
    assert not source(f"    options: {{{option}: false}}").lossy_options


def test_an_unknown_option_is_refused_at_its_line_with_the_nearest_name() -> None:
    error = refused("    options:\n      header: true\n      seperator: ';'")
    assert (error.field, error.line) == ("sources.orders.options.seperator", 7)
    assert "'sep'" in str(error)


def test_an_option_of_the_engine_is_refused_with_its_reason() -> None:
    assert refused("    options: {mode: FAILFAST}").field == "sources.orders.options.mode"


def test_an_option_of_writing_goes_with_the_output() -> None:
    assert refused("    options: {quoteAll: true}").field == "sources.orders.options.quoteAll"
    output = "output: {format: csv, options: {quoteAll: true}}\npublish: [{kind: files}]\n"
    assert spec("", output).output.options == {"quoteAll": True}
    assert refused("", "output: {options: {header: true}}\n").field == "output.options.header"


def test_once_takes_no_order_of_files() -> None:
    assert refused("    latestFirst: true", "trigger: once\n").field == "sources.orders.latestFirst"


def test_text_has_one_column_of_text() -> None:
    text = "sources: {logs: {kind: file, format: text, path: /in, schema: '%s'}}\n"
    assert parse(text % "value string, day date").sources["logs"].columns == ("value", "day")
    with pytest.raises(SpecError) as error:
        parse(text % "value int")
    assert error.value.field == "sources.logs.schema"


def test_what_a_source_says_of_itself() -> None:
    found = source("    options: {header: false}")
    assert found.types["amount"] == DdlType("decimal", precision=10, scale=2)
    assert found.directory == Path("/in/orders")
    assert found.reader_options == {
        "header": "false",
        "enforceSchema": "false",
        "escape": '"',
        **WITH_DATE,
    }
    assert (found.changed, found.redelivered, found.too_old, found.other_schema) == (
        Rating.HOLD,
    ) * 4
    assert found.same_content is Rating.WARN


@pytest.mark.parametrize(
    ("format", "schema"),
    [
        ("csv", "id string, at timestamp, c char(5)"),
        ("json", "id string, at timestamp, c array<varchar(5)>"),
        ("json", "id string, at timestamp, m map<int, string>"),
        ("json", "id string, at timestamp, s struct<m: map<date, int>>"),
        ("json", "id string, at timestamp, s struct<a: int, A: int>"),
        ("csv", "id string, at timestamp, a array<int>"),
    ],
)
def test_a_schema_that_the_format_cannot_have_is_refused_without_spark(
    format: str, schema: str
) -> None:
    replaced = {"format: csv": f"format: {format}"}
    replaced["schema: id string, amount decimal(10,2), at timestamp"] = f"schema: '{schema}'"
    with pytest.raises(SpecError) as refused:
        parse(minimal(replace=replaced))
    assert str(refused.value.field).endswith("schema")


def test_xml_needs_the_element_that_is_a_row() -> None:
    xml = {"    format: csv": "    format: xml"}
    with pytest.raises(SpecError) as error:
        source("", **xml)
    assert error.value.field == "sources.orders.options"
    assert "rowTag" in str(error.value)
    found = source("", **{"    format: csv": "    format: xml\n    options: {ROWTAG: order}"})
    assert found.reader_option("rowTag") == "order"


def test_no_output_is_xml() -> None:
    with pytest.raises(SpecError) as error:
        parse(minimal("output: {format: xml}\n"))
    assert error.value.field == "output.format"


JSON = {"    format: csv": "    format: json"}


def test_a_rescue_column_is_one_of_the_sources_columns() -> None:
    text = "    format: json\n    new_fields: {rescue: rest of it}"
    found = source("", **{"    format: csv": text})
    assert found.columns == ("id", "amount", "at", "rest of it")
    assert found.type_of("rest of it") == "string"
    assert list(found.types) == ["id", "amount", "at"]
    assert source("", **JSON).columns == ("id", "amount", "at")


@pytest.mark.parametrize(
    ("format", "policy", "why"),
    [
        ("csv", "refuse", "other_schema: hold"),
        ("parquet", "{rescue: rest}", "other_schema: hold"),
        ("json", "{rescue: ID}", "a column already"),
        ("json", "{rescue: _record}", "a column already"),
        ("json", "refuse\n    options: {singleVariantColumn: v}", "all fields"),
    ],
)
def test_new_fields_are_for_json_and_a_column_of_their_own(
    format: str, policy: str, why: str
) -> None:
    text = f"    format: {format}\n    new_fields: {policy}"
    with pytest.raises(SpecError) as error:
        source("", **{"    format: csv": text})
    assert error.value.field == "sources.orders.new_fields"
    assert why in str(error.value)


def test_how_a_source_is_read_says_nothing_of_new_fields_that_are_ignored_as_ever() -> None:
    rescuing = source("", **{"    format: csv": "    format: json\n    new_fields: {rescue: r}"})
    ignoring = source("", **JSON)
    assert "new_fields" not in ignoring.reading()
    assert rescuing.as_read(ignoring.reading()) == ignoring
    assert ignoring.as_read(rescuing.reading()).columns == rescuing.columns
