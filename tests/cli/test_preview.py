"""`tidemill preview` runs transform and suite on a sample and leaves no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Tidemill
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract.errors import ExitCode

GOOD = ["a,2,2026-03-01 10:00:00", "b,3,2026-03-02 10:00:00"]
MALFORMED = "c,many,2026-03-02 10:00:00"


def sample(mill: OrdersPipeline, *lines: str) -> Path:
    path = mill.home / "sample.csv"
    path.write_text("\n".join(["id,quantity,at", *lines]) + "\n")
    return path


def test_a_sample_that_is_not_there_is_wrong_usage(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    answer = tidemill("preview", "orders", "--input", str(mill.home / "none.csv"), "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoSample")


def test_a_sample_that_the_stream_would_pass_over_is_refused(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    mill.spec["sources"]["orders"]["options"] = {"pathGlobFilter": "orders-*.csv"}
    spec = mill.home / "project" / "dags" / "specs" / f"{NAME}.yaml"
    spec.write_text(yaml.safe_dump(mill.spec))

    answer = tidemill("preview", "orders", "--input", str(sample(mill, *GOOD)), "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoSample")


@pytest.mark.usefixtures("spark")
class TestOnSpark:
    def test_rows_rejected_rows_and_verdict_are_shown_and_nothing_is_written(
        self, tidemill: Tidemill, mill: OrdersPipeline, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A root that does not exist cannot be written to unseen.
        monkeypatch.setenv("TIDEMILL_ROOT", str(mill.home / "not-there"))
        path = sample(mill, *GOOD, MALFORMED)
        before = sorted(mill.home.rglob("*"))

        answer = tidemill("preview", "orders", "--input", str(path), "--json")

        assert answer.exit_code == ExitCode.DONE
        found = answer.json
        assert (found["rows"], found["rejected"]) == (2, 1)
        assert sorted(found["good"], key=lambda row: str(row["id"])) == [
            {
                "id": "a",
                "quantity": 2,
                "at": "2026-03-01T10:00:00+00:00",
                "day": "2026-03-01",
                "double": 4,
            },
            {
                "id": "b",
                "quantity": 3,
                "at": "2026-03-02T10:00:00+00:00",
                "day": "2026-03-02",
                "double": 6,
            },
        ]
        (refused,) = found["refused"]
        assert (refused["reason"], refused["record"]) == ("malformed", MALFORMED)
        assert found["gate"]["outcome"] == "done"
        assert sorted(mill.home.rglob("*")) == before

    def test_a_date_that_python_does_not_have_is_shown_as_text(
        self, tidemill: Tidemill, mill: OrdersPipeline
    ) -> None:
        path = mill.pipeline.transform_file
        path.write_text(
            path.read_text().rstrip() + '.selectExpr("*", "make_date(12026, 1, 2) AS due")\n'
        )

        answer = tidemill("preview", "orders", "--input", str(sample(mill, *GOOD)), "--json")

        assert answer.exit_code == ExitCode.DONE
        assert [row["due"] for row in answer.json["good"]] == ["12026-01-02"] * 2

    def test_what_the_gate_would_hold_exits_so(
        self, tidemill: Tidemill, mill: OrdersPipeline
    ) -> None:
        path = sample(mill, "a,-2,2026-03-01 10:00:00")

        held = tidemill("preview", "orders", "--input", str(path), "--json")
        shown = tidemill("preview", "orders", "--input", str(path), "--limit", "1")

        assert held.exit_code == shown.exit_code == ExitCode.HELD
        assert held.json["gate"]["outcome"] == "held"
        (reason,) = held.json["gate"]["facts"]["reasons"]
        assert "expect_column_values_to_be_between(quantity)" in reason
        assert shown.stdout.splitlines()[-1].startswith("gate held: ")

    def test_values_of_a_masked_column_are_shown_nowhere(
        self, tidemill: Tidemill, mill: OrdersPipeline
    ) -> None:
        mill.spec["gate"] = {"mask": ["id", "quantity"]}
        spec = mill.home / "project" / "dags" / "specs" / f"{NAME}.yaml"
        spec.write_text(yaml.safe_dump(mill.spec))
        path = sample(mill, "alice,-4711,2026-03-01 10:00:00", "bob,many,2026-03-01 10:00:00")

        answer = tidemill("preview", "orders", "--input", str(path), "--json")

        assert answer.exit_code == ExitCode.HELD
        assert [(row["id"], row["quantity"]) for row in answer.json["good"]] == [("***", "***")]
        assert [row["record"] for row in answer.json["refused"]] == ["***"]
        assert not [value for value in ("alice", "bob", "-4711") if value in answer.stdout]

    def test_a_sample_without_rows_would_be_held(
        self, tidemill: Tidemill, mill: OrdersPipeline
    ) -> None:
        answer = tidemill("preview", "orders", "--input", str(sample(mill)), "--json")

        assert answer.exit_code == ExitCode.HELD
        assert (answer.json["rows"], answer.json["good"]) == (0, [])

    def test_what_spark_refuses_is_one_sentence(
        self, tidemill: Tidemill, mill: OrdersPipeline
    ) -> None:
        transform = mill.home / "project" / "spark_jobs" / "transforms" / f"{NAME}.py"
        transform.write_text("def transform(rows):\n    return rows.select('idd', 'day')\n")

        answer = tidemill("preview", "orders", "--input", str(sample(mill, *GOOD)), "--json")

        assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "TransformRefused")
        assert answer.json["data"]["condition"].startswith("UNRESOLVED_COLUMN")
        assert answer.json["data"]["line"] == 2

    def test_a_header_that_is_not_the_schema_s_is_one_sentence(
        self, tidemill: Tidemill, mill: OrdersPipeline
    ) -> None:
        path = mill.home / "sample.csv"
        path.write_text("key,quantity,at\na,2,2026-03-01 10:00:00\n")

        answer = tidemill("preview", "orders", "--input", str(path), "--json")

        assert (answer.exit_code, answer.json["code"]) == (ExitCode.FAILED, "FileUnreadable")
        assert answer.json["data"]["file"] == str(path)
        assert "Traceback" not in answer.stderr

    @pytest.mark.parametrize(
        ("changed", "field"),
        [
            ({"row_rules": {"known": "idd IS NOT NULL"}}, "row_rules.known"),
            ({"output": {"partition_by": {"day": "to_date(att)"}}}, "output.partition_by.day"),
        ],
    )
    def test_an_expression_on_a_misspelt_column_is_named_by_its_field(
        self, tidemill: Tidemill, mill: OrdersPipeline, changed: dict[str, Any], field: str
    ) -> None:
        spec = mill.home / "project" / "dags" / "specs" / f"{NAME}.yaml"
        spec.write_text(yaml.safe_dump(mill.spec | changed))

        answer = tidemill("preview", "orders", "--input", str(sample(mill, *GOOD)), "--json")

        assert (answer.exit_code, answer.json["data"]["field"]) == (ExitCode.USAGE, field)
        assert "Project" not in answer.json["what"]
