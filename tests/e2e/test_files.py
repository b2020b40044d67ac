"""Files that grow, come again, are cut short or hold something else: nothing lost, nothing doubled.

Each gets its own clear error or report; after what it says was done, the pipeline goes on.
"""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.support.pipelines.orders_pipeline import SPEC, OrdersPipeline
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.run_request import RunRequest, fix_request

HEADER = "id,quantity,at\n"
AT = datetime(2026, 3, 1, tzinfo=UTC)


def mill_of(home: Path, **source: Any) -> OrdersPipeline:
    spec = json.loads(json.dumps(SPEC))
    spec["sources"]["orders"].update(source)
    return OrdersPipeline(home, spec)


def code(report: Report) -> str:
    assert report.error is not None
    return str(report.error["code"])


def files(report: Report) -> list[str]:
    assert report.error is not None
    return [Path(path).name for path in report.error["data"]["files"]]


def ids(mill: OrdersPipeline) -> list[str]:
    return sorted(row[0] for row in mill.published().elements())


def ingest(mill: OrdersPipeline, run_id: str) -> Report:
    """The two steps that look at the source's files, up to the first that stops."""
    looked = mill.step("doctor", run_id)
    return mill.step("ingest", run_id) if looked.outcome is Outcome.DONE else looked


def test_a_file_that_grew_after_it_was_read_is_refused_and_what_was_added_comes_by_another_name(
    mill: OrdersPipeline, spark: object
) -> None:
    mill.deliver_days(range(1, 2), rows=3)
    assert mill.run("first")["publish"].outcome is Outcome.DONE
    read = mill.input / "day-01.csv"
    before, status = read.read_text(), read.stat()
    with read.open("a") as content:
        content.write("late,1,2026-03-01 00:00:00\n")

    refused = mill.step("doctor", "second")
    assert (refused.outcome, code(refused), files(refused)) == (
        Outcome.REFUSED,
        "InputChanged",
        ["day-01.csv"],
    )

    # As the remedy says: the old file back, and what was added under a name of its own.
    read.write_text(before)
    os.utime(read, ns=(status.st_atime_ns, status.st_mtime_ns))
    mill.deliver("day-01-late.csv", ["late,1,2026-03-01 00:00:00"])
    assert mill.run("third")["publish"].outcome is Outcome.DONE
    mill.assert_whole()


@pytest.mark.remedy("InputChanged")
@pytest.mark.parametrize("published", [False, True])
def test_a_file_that_grew_is_read_as_it_is_now_by_a_rebuild_and_the_next_run_goes_on(
    mill: OrdersPipeline, spark: object, published: bool
) -> None:
    read = mill.deliver("a.csv", ["a,1,2026-03-01 00:00:00"])
    assert ingest(mill, "first").outcome is Outcome.DONE
    if published:
        assert mill.run("first")["publish"].outcome is Outcome.DONE
    with read.open("a") as content:
        content.write("b,1,2026-03-01 00:00:00\n")
    assert code(mill.step("doctor", "second")) == "InputChanged"

    # Rows of what was published could be gone: a person accepts that.
    request = RunRequest(role="rebuild", by="ada", reason="it grew", accept_loss=published)
    fix_request(mill.layout.run("third"), request)
    assert mill.run("third")["publish"].outcome is Outcome.DONE
    assert ids(mill) == ["a", "b"]

    mill.deliver("c.csv", ["c,1,2026-03-01 00:00:00"])
    assert mill.run("fourth")["publish"].outcome is Outcome.DONE
    assert ids(mill) == ["a", "b", "c"]


def test_a_file_that_is_delivered_again_is_refused_and_a_rating_lets_the_rest_go_on(
    tmp_path: Path, spark: object
) -> None:
    mill = mill_of(tmp_path)
    mill.deliver("a.csv", ["a,1,2026-03-01 00:00:00"])
    assert ingest(mill, "first").outcome is Outcome.DONE
    mill.deliver("a.csv", ["b,1,2026-03-01 00:00:00"])

    refused = ingest(mill, "second")
    assert (code(refused), files(refused)) == ("InputRedelivered", ["a.csv"])

    mill = mill_of(tmp_path, redelivered="warn")
    mill.deliver("c.csv", ["c,1,2026-03-01 00:00:00"])
    reports = mill.run("third")
    assert reports["publish"].outcome is Outcome.DONE
    assert ids(mill) == ["a", "c"]
    found = reports["ingest"].facts["sources"]["orders"]
    assert (found["seen"], found["read"], found["redelivered"]) == (2, 1, 1)
    assert [(p["code"], p["rating"]) for p in found["problems"]] == [("InputRedelivered", "warn")]


def test_a_file_that_is_too_old_to_be_read_is_refused_until_it_is_touched(
    tmp_path: Path, spark: object
) -> None:
    mill = mill_of(tmp_path, maxFileAge="1 day")
    mill.deliver("new.csv", ["a,1,2026-03-01 00:00:00"])
    assert ingest(mill, "first").outcome is Outcome.DONE
    late = mill.deliver("late.csv", ["b,1,2026-03-01 00:00:00"])
    os.utime(late, (0, 0))

    refused = ingest(mill, "second")
    assert (code(refused), files(refused)) == ("InputTooOld", ["late.csv"])

    late.touch()
    assert ingest(mill, "third").facts["rows"] == 1


def test_content_that_comes_again_under_another_name_is_said_and_held_where_the_spec_says_so(
    tmp_path: Path, spark: object
) -> None:
    mill = mill_of(tmp_path, same_content="hold")
    mill.deliver("a.csv", ["a,1,2026-03-01 00:00:00"])
    assert ingest(mill, "first").outcome is Outcome.DONE
    mill.deliver("copy.csv", ["a,1,2026-03-01 00:00:00"])
    refused = ingest(mill, "second")
    assert (code(refused), files(refused)) == ("InputDoubled", ["copy.csv"])

    mill = mill_of(tmp_path)
    read = ingest(mill, "third")
    assert read.facts["sources"]["orders"]["read_twice"] == [str(mill.input / "copy.csv")]


@pytest.mark.parametrize("options", [{}, {"multiLine": True}])
def test_gzip_cut_short_fails_with_the_file_and_is_read_whole_once_it_is_mended(
    tmp_path: Path, spark: object, options: dict[str, Any]
) -> None:
    mill = mill_of(tmp_path, options=options)
    rows = [f"{n},1,2026-03-01 00:00:00" for n in range(3000)]
    packed = gzip.compress((HEADER + "\n".join(rows) + "\n").encode())
    torn = mill.input / "a.csv.gz"
    torn.write_bytes(packed[: len(packed) // 2])

    failed = ingest(mill, "first")
    assert (failed.outcome, code(failed)) == (Outcome.FAILED, "FileUnreadable")
    assert failed.error is not None
    assert failed.error["data"]["file"] == str(torn)
    assert not failed.error["transient"]

    torn.write_bytes(packed)
    assert mill.run("second")["publish"].outcome is Outcome.DONE
    assert ids(mill) == sorted(str(n) for n in range(3000))
    # What was read in the end is what is there: no later run takes it for changed.
    assert mill.step("doctor", "third").outcome is Outcome.SKIPPED


COLUMNS = {
    "id": ["a"],
    "quantity": pa.array([1], pa.int32()),
    "at": pa.array([AT], pa.timestamp("us", "UTC")),
}
OTHER = {
    "missing": {name: column for name, column in COLUMNS.items() if name != "quantity"},
    "type": COLUMNS | {"quantity": ["many"]},
}


@pytest.mark.parametrize("wrong", OTHER)
@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_file_of_another_schema_is_refused_and_never_nulls(
    tmp_path: Path, spark: object, format: str, wrong: str
) -> None:
    mill = mill_of(tmp_path, format=format)
    write: Any = pq.write_table if format == "parquet" else orc.write_table
    other = mill.input / f"a.{format}"
    write(pa.table(OTHER[wrong]), str(other))
    refused = ingest(mill, "first")
    assert (refused.outcome, code(refused), files(refused)) == (
        Outcome.REFUSED,
        "InputOfOtherSchema",
        [other.name],
    )
    write(pa.table(COLUMNS), str(other))
    assert ingest(mill, "second").facts["rows"] == 1


def test_a_csv_header_of_another_schema_fails_with_the_file(
    mill: OrdersPipeline, spark: object
) -> None:
    other = mill.deliver("other.csv", ["a,2026-03-01 00:00:00,1"], header="id,at,quantity")
    failed = ingest(mill, "first")
    assert (failed.outcome, code(failed)) == (Outcome.FAILED, "FileUnreadable")
    assert failed.error is not None
    assert failed.error["data"]["file"] == str(other)


def test_what_is_published_is_archived_and_later_runs_go_on_without_it(
    tmp_path: Path, spark: object
) -> None:
    mill = mill_of(tmp_path, cleanSource="archive", sourceArchiveDir=str(tmp_path / "archive"))
    first = mill.deliver("a.csv", ["a,1,2026-03-01 00:00:00"])
    mill.deliver("b.csv", ["b,1,2026-03-01 00:00:00"])
    assert mill.run("first")["publish"].facts["input"] == {"archived": 2, "deleted": 0, "kept": 0}
    assert (tmp_path / "archive" / first.relative_to("/")).exists()
    assert mill.step("doctor", "second").outcome is Outcome.SKIPPED
    mill.deliver("c.csv", ["c,1,2026-03-01 00:00:00"])
    assert mill.run("third")["publish"].facts["input"]["archived"] == 1
    assert ids(mill) == ["a", "b", "c"]
    assert list(mill.input.iterdir()) == []
