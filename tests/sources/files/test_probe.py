"""A look at a file source: each thing that Spark would pass over or misread is a rated problem."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.support.avro_file import write_avro
from tests.support.histories.history_builder import History, rows
from tidemill.contract.errors import Refused
from tidemill.ledger.batch import Batch
from tidemill.sources.files.content_problems import problems_of_content
from tidemill.sources.kinds import open_source
from tidemill.sources.probe import inspect, report_sources
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def looked(history: History) -> ProbeResult:
    return open_source(history.pipeline, "orders").probe(history.ledger.batches())


def problems(found: ProbeResult) -> dict[str, tuple[Rating, Any]]:
    return {p.error.code: (p.rating, p.error.data["files"]) for p in found.problems}


def read_one(tmp_path: Path, more: str = "", at: datetime | None = None) -> tuple[History, Path]:
    history = History(tmp_path / "history", source=more)
    file = history.arrive("a.csv", "id,at\n1,\n", at=at)
    history.batch(rows(1), inputs=[file])
    return history, file


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()


def test_of_what_was_read_and_what_is_new_there_is_nothing_to_say(tmp_path: Path) -> None:
    history, _ = read_one(tmp_path)
    arrived = history.arrive("b.csv", "id,at\n22,\n")
    found = looked(history)
    assert found.problems == ()
    assert (found.new, found.unit, found.backlog_bytes) == (1, "files", arrived.stat().st_size)
    assert found.facts["seen"] == 2


RATINGS = ["hold", "warn", "ignore"]


@pytest.mark.parametrize("rating", RATINGS)
@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("changed", "InputChanged"),
        ("redelivered", "InputRedelivered"),
        ("too_old", "InputTooOld"),
        ("same_content", "InputDoubled"),
    ],
)
def test_each_of_the_four_is_rated_by_the_spec(
    tmp_path: Path, field: str, code: str, rating: str
) -> None:
    history, read = read_one(tmp_path, f", maxFileAge: 1 day, {field}: {rating}", at=NOW)
    if field == "changed":
        with read.open("a") as content:
            content.write("2,\n")
        culprit = read
    elif field == "redelivered":
        culprit = history.arrive("draft.tmp", "id,at\n3,\n").rename(read)
    elif field == "too_old":
        culprit = history.arrive("old.csv", "id,at\n22,\n", at=NOW - 2 * DAY)
    else:
        culprit = history.arrive("copy.csv", read.read_text(), at=NOW)
    found = looked(history)
    expected = {} if rating == "ignore" else {code: (Rating(rating), [str(culprit)])}
    assert problems(found) == expected
    # What is ignored is counted all the same, but for contents, which are then not compared.
    counted = 0 if (field, rating) == ("same_content", "ignore") else 1
    assert found.facts[field] == counted
    assert found.facts["files"] == ({field: [str(culprit)]} if counted else {})


def test_a_file_dated_in_the_future_would_make_all_others_too_old(tmp_path: Path) -> None:
    history, _ = read_one(tmp_path, ", maxFileAge: 1 day")
    ahead = history.arrive("ahead.csv", "id,at\n22,\n", at=NOW + 2 * DAY)
    assert problems(looked(history)) == {"InputAhead": (Rating.HOLD, [str(ahead)])}


def test_without_an_age_a_file_dated_in_the_future_harms_nobody(tmp_path: Path) -> None:
    history, _ = read_one(tmp_path)
    history.arrive("ahead.csv", "id,at\n22,\n", at=NOW + 2 * DAY)
    assert looked(history).problems == ()


def test_files_that_spark_passes_over_are_counted_and_said(tmp_path: Path) -> None:
    history, _ = read_one(tmp_path)
    hidden = history.arrive("_b.csv", "id,at\n22,\n")
    found = looked(history)
    assert problems(found) == {"InputPassedOver": (Rating.WARN, [str(hidden)])}
    assert (found.facts["passed_over"], found.facts["files"]) == (1, {"passed_over": [str(hidden)]})


# Spark gives these the date of the run.
OF_TODAY = ("at=12%3A30/a.csv", "at=T12/a.csv", "day=1/AT=12:30/a.csv")


# At these it fails.
MISTYPED = ("at=noon/a.csv", "at=2026-02-30/a.csv", "ID=7.0/a.csv", "id=9999999999999999999/a.csv")


@pytest.mark.parametrize(
    "name", ["12:30.csv", "at=/a.csv", "day=/at=1/a.csv", *OF_TODAY, *MISTYPED]
)
def test_a_name_with_which_spark_reads_nothing_is_refused(tmp_path: Path, name: str) -> None:
    history = History(tmp_path / "history")
    (history.inputs / name).parent.mkdir(parents=True, exist_ok=True)
    file = history.arrive(name, "id,at\n1,\n")
    assert problems(looked(history)) == {"InputNameUnreadable": (Rating.HOLD, [str(file)])}


def test_a_name_that_only_looks_so_is_read(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    folders = ("day=12:30", "at=2026-03-01 12%3A30", "at=2026", "id=007", f"id={NULL_PARTITION}")
    for folder in folders:
        (history.inputs / folder).mkdir(parents=True)
        history.arrive(f"{folder}/a.csv", f"id,at\n{len(folder)},\n")
    assert looked(history).problems == ()


def other_format(tmp_path: Path, format: str, more: str = "") -> History:
    history = History(tmp_path / "history")
    history.write_spec(source=more)
    spec = history.project.spec("orders")
    spec.write_text(spec.read_text().replace("format: csv", f"format: {format}"))
    return history


GOOD = {"id": [1], "at": [NOW]}


def write(history: History, format: str, columns: dict[str, Any], name: str = "a") -> Path:
    path = history.inputs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if format == "avro":
        instant = {"type": "long", "logicalType": "timestamp-micros"}
        fields = {"id": "long", "at": instant, "qty": "long"}
        write_avro(path, {column: fields[column] for column in columns}, [])
    else:
        writer: Any = pq.write_table if format == "parquet" else orc.write_table
        writer(pa.table(columns), str(path))
    return path


@pytest.mark.parametrize("rating", RATINGS)
@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_a_column_that_a_file_lacks_is_never_silently_null(
    tmp_path: Path, format: str, rating: str
) -> None:
    history = other_format(tmp_path, format, f", other_schema: {rating}")
    write(history, format, GOOD, "good")
    lacking = write(history, format, {"id": [1]}, "lacking")
    expected = (
        {} if rating == "ignore" else {"InputOfOtherSchema": (Rating(rating), [str(lacking)])}
    )
    assert problems(looked(history)) == expected


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_column_of_another_type_is_named(tmp_path: Path, format: str) -> None:
    history = other_format(tmp_path, format)
    other = write(history, format, {"id": ["1"], "at": [NOW]})
    (problem,) = looked(history).problems
    assert problem.error.files == [str(other)]
    assert "column id is string, not bigint" in problem.error.what


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_partition_column_comes_from_the_path(tmp_path: Path, format: str) -> None:
    history = other_format(tmp_path, format)
    write(history, format, {"at": [NOW]}, "id=1/a")
    assert looked(history).problems == ()


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("keep", [0, 30])
def test_a_file_that_is_cut_short_is_named_before_spark_takes_it_in(
    tmp_path: Path, format: str, keep: int
) -> None:
    history = other_format(tmp_path, format)
    path = write(history, format, GOOD)
    path.write_bytes(path.read_bytes()[:keep])
    assert problems(looked(history)) == {"InputPartRead": (Rating.HOLD, [str(path)])}


def test_a_name_that_is_no_utf8_is_a_finding_and_no_new_file(tmp_path: Path) -> None:
    history, _ = read_one(tmp_path)
    unseen = [os.fsdecode(name) for name in (b"bad\xff.csv", b"caf\xe9/fine.csv")]
    for name in unseen:
        history.arrive(name, "id,at\n2,\n")
    found = looked(history)
    assert found.new == 0
    files = [str(history.inputs / name) for name in unseen]
    assert problems(found) == {"InputNameNotUtf8": (Rating.HOLD, files)}


@pytest.mark.parametrize(("rating", "count"), [("warn", 1), ("ignore", 0)])
def test_such_a_name_is_rated_by_the_spec(tmp_path: Path, rating: str, count: int) -> None:
    history, _ = read_one(tmp_path, f", not_utf8: {rating}")
    history.arrive(os.fsdecode(b"bad\xff.csv"), "id,at\n2,\n")
    found = looked(history)
    assert [p.rating for p in found.problems] == [Rating.WARN] * count
    assert found.facts["not_utf8"] == 1


def left_out(found: ProbeResult) -> list[list[str]]:
    for problem in found.problems:
        assert (problem.error.code, problem.rating) == ("InputColumnsLeftOut", Rating.WARN)
    return [problem.error.columns for problem in found.problems]


@pytest.mark.parametrize("rating", Rating)
def test_a_new_column_is_rated_as_another_schema_where_the_spec_gives_that(
    tmp_path: Path, rating: Rating
) -> None:
    (tmp_path / "a.json").write_text('{"id": "a", "more": 1}\n')
    given = {"format": "json", "path": str(tmp_path), "schema": "id string", "other_schema": rating}
    files = [tmp_path / "a.json"]
    found = problems_of_content("s", FileSource.model_validate(given), files)
    assert [one.rating for one in found] == ([] if rating is Rating.IGNORE else [rating])


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_a_new_column_is_mentioned_and_holds_nothing(tmp_path: Path, format: str) -> None:
    history = other_format(tmp_path, format)
    write(history, format, GOOD, "old")
    assert left_out(looked(history)) == []
    write(history, format, {**GOOD, "qty": [1]}, "new")
    assert left_out(looked(history)) == [["qty"]]


@pytest.mark.parametrize(
    ("format", "more", "content", "columns"),
    [
        ("csv", "", "id,at\n1,\n", []),
        ("csv", "", "ID,at,qty,note\n1,,2,x\n", ["qty", "note"]),
        ("csv", ", options: {sep: ';'}", "id;at;qty\n", ["qty"]),
        ("csv", ", options: {header: false}", "1,,2\n", []),
        ("csv", ", options: {charset: UTF8}", "\ufeffid,at,qty\n", ["qty"]),
        ("csv", "", "id,at," + "x" * 2**17 + "\n", []),
        ("json", "", '{"id": 1, "at": null}\n', []),
        ("json", "", '{"id": 1, "qty": 2, "ID": 3}\n{"other": 1}\n', ["qty", "ID"]),
        ("json", "", "[" * 50_000 + "\n", []),
        ("json", "", "no JSON\n", []),
    ],
)
def test_a_new_column_of_a_text_is_mentioned_as_far_as_its_first_line_tells(
    tmp_path: Path, format: str, more: str, content: str, columns: list[str]
) -> None:
    history = other_format(tmp_path, format, more)
    history.arrive("a", content)
    assert left_out(looked(history)) == ([columns] if columns else [])


def test_a_new_field_of_a_struct_is_mentioned(tmp_path: Path) -> None:
    history = other_format(tmp_path, "parquet")
    spec = history.project.spec("orders")
    spec.write_text(spec.read_text().replace("id long", "id long, place struct<city: string>"))
    write(history, "parquet", {**GOOD, "place": [{"city": "Ulm", "street": "Hafen"}]})
    assert left_out(looked(history)) == [["place.street"]]


def test_partitions_that_spark_does_not_read_are_not_silently_null(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    glob = {"inputs": f"{history.inputs}/*"}
    history.write_spec(**glob, source=", format: json")
    spec = history.project.spec("orders")
    spec.write_text(spec.read_text().replace("format: csv, ", ""))
    unread = history.arrive("shop/id=1/a.json", "{}\n")
    assert problems(looked(history)) == {"InputOfOtherSchema": (Rating.HOLD, [str(unread)])}
    told = f", format: json, options: {{basePath: {history.inputs}/shop}}"
    history.write_spec(**glob, source=told)
    spec.write_text(spec.read_text().replace("format: csv, ", ""))
    assert looked(history).problems == ()


def test_after_a_run_the_report_says_what_it_read(tmp_path: Path) -> None:
    history, read = read_one(tmp_path)
    copy = history.arrive("copy.csv", read.read_text())
    history.batch(rows(1), inputs=[copy, history.arrive("b.csv", "id,at\n22,\n")])
    waits = history.arrive("c.csv", "id,at\n333,\n")
    run: list[Batch] = history.ledger.batches(first=1)
    (found,) = report_sources(history.run(), history.ledger.batches(), run)
    assert (found.new, found.backlog_bytes) == (1, waits.stat().st_size)
    assert (found.facts["seen"], found.facts["read"]) == (4, 2)
    assert found.facts["read_twice"] == [str(copy)]


def test_what_arrived_after_the_look_is_inspected_before_it_is_written_down(
    tmp_path: Path,
) -> None:
    history = other_format(tmp_path, "parquet")
    late = write(history, "parquet", {"id": [1]}, "late")
    history.batch(rows(1), inputs=[late])
    (batch,) = history.ledger.batches()
    with pytest.raises(Refused) as refused:
        inspect(history.pipeline, batch)
    assert (refused.value.code, refused.value.files) == ("InputOfOtherSchema", [str(late)])
    late.unlink()
    assert inspect(history.pipeline, batch).inputs[0].rows is None


NUMBERS = {
    "csv": b"id,price,rate\na,1.239,1.23456\nb,1.230,2\nd,1.239x,\nc,-0.005,1E-7",
    "json": b'{"id": "a", "price": 1.239, "rate": 0.123456}\n{"id": "b", "price": 1.230}\n'
    b'{"id": "c", "price": "-0.005", "rate": 1e-7}\n{"id": "d", "price": true, "rate": \n',
}


@pytest.mark.parametrize("format", NUMBERS)
@pytest.mark.parametrize("rating", [None, Rating.HOLD])
def test_digits_that_a_decimal_drops_are_counted_and_rated_by_the_spec(
    tmp_path: Path, format: str, rating: Rating | None
) -> None:
    (tmp_path / "a").write_bytes(NUMBERS[format])
    schema = "id string, price decimal(10,2), rate decimal(12,6)"
    given = {"format": format, "path": str(tmp_path), "schema": schema}
    source = FileSource.model_validate(given | ({"other_schema": rating} if rating else {}))
    found = problems_of_content("s", source, [tmp_path / "a"])
    assert [(one.error.code, one.rating) for one in found] == [
        ("InputDigitsDropped", rating or Rating.WARN)
    ]
    assert found[0].error.columns == {"price": 2, "rate": 1}


def test_digits_are_counted_in_the_columns_of_the_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "rate=1.239" / "a.csv.gz"
    file.parent.mkdir()
    file.write_bytes(gzip.compress(b"id,price\na,1.5\nb,1.55"))
    given = {
        "format": "csv",
        "path": str(tmp_path),
        "schema": "id string, rate decimal(10,2), price decimal(10,1)",
    }
    (found,) = problems_of_content("s", FileSource.model_validate(given), [file])
    assert found.error.columns == {"price": 1}
    given["other_schema"] = Rating.IGNORE
    assert not problems_of_content("s", FileSource.model_validate(given), [file])
