"""`tidemill new` makes a pipeline of data that it has never seen, and `check` finds no problem."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.conftest import Tidemill
from tests.cli.project.conftest import CITIES, PARCELS
from tidemill.contract.errors import ExitCode
from tidemill.contract.project import Project
from tidemill.gate.gx_internals.known_expectations import known_expectations
from tidemill.gate.suite import load_suite
from tidemill.spec.load import load_spec

NOT_NULL = "expect_column_values_to_not_be_null"
UNIQUE = "expect_column_values_to_be_unique"
IN_SET = "expect_column_values_to_be_in_set"
BETWEEN = "expect_column_values_to_be_between"


def expected(home: Path, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """(Column, type) -> the other arguments, of the suite that was written."""
    suite = load_suite(Project(home).suite(name))
    return {
        (one.kwargs["column"], one.type): {k: v for k, v in one.kwargs.items() if k != "column"}
        for one in suite.expectations
    }


def test_a_csv_file_becomes_a_pipeline_without_problems(
    tidemill: Tidemill, home: Path, parcels: Path
) -> None:
    made = tidemill("new", "parcels", "--from", str(parcels), "--json").json
    assert (made["rows"], made["event_time"], made["problems"]) == (PARCELS, "picked_up", [])
    assert [note for note in made["notes"] if note.startswith("postcode: ")]
    spec = load_spec(Project(home).spec("parcels"))
    source = spec.file_inputs["sources.parcels"]
    assert (source.format, source.path) == ("csv", str(parcels.parent))
    assert source.options == {"pathGlobFilter": "*.csv", "sep": ";"}
    assert re.sub(r"\s+", " ", source.schema_) == (
        "parcel string, `weight.kg` double, City string, postcode string, picked_up timestamp, "
        "note string"
    )
    assert spec.output.partition_by == {"day": "to_date(picked_up)"}
    assert expected(home, "parcels") == {
        ("parcel", NOT_NULL): {},
        ("parcel", UNIQUE): {},
        ("weight.kg", NOT_NULL): {},
        ("weight.kg", BETWEEN): {"min_value": 0.0, "max_value": 50.0},
        ("City", NOT_NULL): {},
        ("City", IN_SET): {"value_set": sorted(CITIES)},
        ("postcode", NOT_NULL): {},
        ("postcode", UNIQUE): {},
        ("picked_up", NOT_NULL): {},
    }
    assert tidemill("check", "--json").json["problems"] == []


def test_each_expectation_says_what_share_of_how_many_rows_held_it(
    tidemill: Tidemill, home: Path, tmp_path: Path
) -> None:
    rows = [{"n": number, "word": None if number == 3 else "x"} for number in range(50)]
    sample = tmp_path / "rows.json"
    sample.write_text("\n".join(map(json.dumps, rows)))
    tidemill("new", "rows", "--from", str(sample))
    found = load_suite(Project(home).suite("rows")).expectations
    held = {(one.columns, one.type): one.raw["meta"] for one in found}
    assert held[("word",), NOT_NULL] == {"held": 0.98, "rows": 50}
    assert held[("n",), UNIQUE] == {"held": 1.0, "rows": 50}
    assert {one.type: one.kwargs.get("mostly") for one in found if one.columns == ("word",)} == {
        NOT_NULL: 0.98,
        IN_SET: None,
    }
    assert {one.type for one in found} <= set(known_expectations())


def test_json_lines_become_a_pipeline_that_publishes_them_as_they_come(
    tidemill: Tidemill, home: Path, visits: Path
) -> None:
    made = tidemill("new", "visits", "--from", str(visits), "--no-transform", "--json").json
    assert made["problems"] == []
    assert made["schema"] == (
        "_id bigint, who struct<name: string, age: bigint>, pages array<string>, when timestamp, "
        "seconds double"
    )
    spec = load_spec(Project(home).spec("visits"))
    assert spec.transform == "none"
    assert spec.output.partition_by == {"day": "to_date(`when`)"}
    assert not Project(home).transform("visits").exists()
    assert (made["rows"], len(made["notes"])) == (40, 1)
    assert expected(home, "visits") == {
        ("_id", NOT_NULL): {},
        ("_id", "expect_column_values_to_be_unique"): {},
        ("who", NOT_NULL): {"mostly": 0.97},
        ("pages", NOT_NULL): {},
        ("when", NOT_NULL): {},
        ("seconds", NOT_NULL): {},
        ("seconds", BETWEEN): {"min_value": 0.0, "max_value": 200.0},
    }
    assert tidemill("check", "--json").json["problems"] == []


def test_a_parquet_file_says_its_types_itself(
    tidemill: Tidemill, home: Path, tmp_path: Path
) -> None:
    amounts = pa.array([1, 2, 3], pa.decimal128(10, 2))
    stamps = pa.array([0, 1, 2], pa.timestamp("us"))
    table = pa.table({"amount": amounts, "ts": stamps, "day": pa.array([1, 2, 3], pa.int32())})
    folder = tmp_path / "in"
    folder.mkdir()
    parquet.write_table(table, folder / "a.parquet")
    made = tidemill("new", "amounts", "--from", str(folder), "--json").json
    assert made["schema"] == "amount decimal(10,2), ts timestamp_ntz, day int"
    # `day` is a column already.
    partitions = load_spec(Project(home).spec("amounts")).output.partition_by
    assert partitions == {"day_2": "to_date(ts)"}
    assert made["problems"] == []


def test_nothing_is_overwritten(tidemill: Tidemill, home: Path, parcels: Path) -> None:
    suite = Project(home).suite("parcels")
    suite.write_text("mine")
    answer = tidemill("new", "parcels", "--from", str(parcels), "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "FileExists")
    assert suite.read_text() == "mine"
    assert not Project(home).spec("parcels").exists()


@pytest.mark.parametrize(
    ("name", "content", "more", "code"),
    [
        ("gone.csv", None, (), "UnknownSample"),
        ("empty.csv", "a,b\n", (), "UnknownSample"),
        ("x.avro", "Obj\x01", (), "UnknownSample"),
        ("x.parquet", "no parquet", (), "UnknownSample"),
        ("x.csv", "_origin,b\n1,x\n", (), "UsageError"),
        ("x.csv", "a,b\n1,x\n", ("--preview",), "UsageError"),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_cannot_be_sampled_is_refused(
    tidemill: Tidemill,
    tmp_path: Path,
    name: str,
    content: str | None,
    more: tuple[str, ...],
    code: str,
) -> None:
    sample = tmp_path / name
    if content is not None:
        sample.write_text(content)
    answer = tidemill("new", "rows", "--from", str(sample), "--json", *more)
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, code)
