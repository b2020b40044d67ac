"""`tidemill schema infer` writes a schema from a sample, with what a person should look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.cli.conftest import Tidemill
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.contract.errors import ExitCode
from tidemill.contract.syntax.ddl import column_types

CSV = "code,qty,what,empty,at\n007,1,a,,2026-03-01 00:00:00\n008,2,3,,2026-03-02 00:00:00\n"


def notes(document: Any) -> dict[str, str]:
    return {one["name"]: "; ".join(one["notes"]) for one in document["columns"] if one["notes"]}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nothing.csv", "--format", "csv"], "NothingToInferFrom"),
        (["in"], "NothingToInferFrom"),
        (["in", "--format", "csv"], "NothingToInferFrom"),
        (["orders", "--source", "absent"], "NothingToInferFrom"),
        (["orders"], "NothingToInferFrom"),
        (["in", "--format", "csv", "--option", "seperator=;"], "UsageError"),
        (["in", "--format", "xml"], "UsageError"),
    ],
)
def test_where_there_is_nothing_to_infer_from_it_says_so(
    tidemill: Tidemill,
    mill: OrdersPipeline,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: str,
) -> None:
    (mill.home / "in").mkdir()
    monkeypatch.chdir(mill.home)
    answer = tidemill("schema", "infer", *arguments, "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, code)


@pytest.mark.parametrize("arguments", [["--format", "ini"], ["--option", "sep", "--format", "csv"]])
def test_a_wrong_call_is_wrong_usage(tidemill: Tidemill, tmp_path: Path, arguments: Any) -> None:
    assert tidemill("schema", "infer", str(tmp_path), *arguments).exit_code == ExitCode.USAGE


@pytest.mark.usefixtures("spark")
class TestOnSpark:
    def test_csv_is_inferred_and_what_is_doubtful_is_said(
        self, tidemill: Tidemill, tmp_path: Path
    ) -> None:
        (tmp_path / "a.csv").write_text(CSV)
        found = tidemill("schema", "infer", str(tmp_path), "--format", "csv", "--json").json
        assert found["schema"] == "code int, qty int, what string, empty string, at timestamp"
        assert (found["rows"], found["files"]) == (2, [str(tmp_path / "a.csv")])
        assert notes(found) == {
            "code": "2 begin with 0, which a number loses: string would keep it",
            "what": "mixed: 1 of 2 are numbers",
            "empty": "holds nothing in this sample, so that its type is a guess",
        }

    def test_what_is_printed_goes_into_a_spec(self, tidemill: Tidemill, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("o'clock;x y\n1;2\n")
        file = str(tmp_path / "a.csv")
        answer = tidemill("schema", "infer", file, "--format", "csv", "--option", "sep=;")
        assert yaml.safe_load(answer.stdout) == {"schema": "`o'clock` int, `x y` int"}
        assert list(column_types(yaml.safe_load(answer.stdout)["schema"])) == ["o'clock", "x y"]

    def test_json_keeps_what_is_inside_structs(self, tidemill: Tidemill, tmp_path: Path) -> None:
        lines = ['{"a": {"b": 1, "c": null}, "d": "1"}', '{"a": {"b": "x"}, "d": "y"}', "{oops"]
        (tmp_path / "a.json").write_text("\n".join(lines) + "\n")
        found = tidemill("schema", "infer", str(tmp_path), "--format", "json", "--json").json
        assert found["schema"] == "a struct<b:string,c:string>, d string"
        assert found["notes"] == ["1 row did not parse"]
        assert notes(found) == {
            "a": "b: mixed: 1 of 2 are numbers; "
            "c: holds nothing in this sample, so that its type is a guess",
            "d": "mixed: 1 of 2 are numbers",
        }

    def test_xml_is_inferred_from_its_rows(self, tidemill: Tidemill, tmp_path: Path) -> None:
        (tmp_path / "a.xml").write_text('<rows><row id="a"><n>1</n></row></rows>')
        options = ("--format", "xml", "--option", "rowTag=row")
        found = tidemill("schema", "infer", str(tmp_path), *options, "--json").json
        assert (found["schema"], found["rows"]) == ("_id string, n bigint", 1)

    def test_a_parquet_file_says_what_it_is(self, tidemill: Tidemill, tmp_path: Path) -> None:
        pq.write_table(pa.table({"_id": [1], "_origin": ["x"]}), tmp_path / "a.parquet")
        found = tidemill("schema", "infer", str(tmp_path), "--format", "parquet", "--json").json
        assert found["schema"] == "_id bigint, _origin string"
        assert list(notes(found)) == ["_origin"]

    def test_of_a_pipeline_its_files_and_options_are_taken(
        self, tidemill: Tidemill, mill: OrdersPipeline
    ) -> None:
        mill.deliver("a.csv", ["a,1,2026-03-01 00:00:00"])
        mill.deliver("b.csv", ["b,2,2026-03-01 00:00:00"])
        found = tidemill("schema", "infer", "orders", "--files", "1", "--json").json
        assert found["schema"] == "id string, quantity int, at timestamp"
        assert found["files"] == [str(mill.input / "b.csv")]
