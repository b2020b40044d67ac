"""`tidemill check --spark`: what only Spark's plan shows, without data and servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Tidemill
from tests.support.pipelines.user_project import write_pipeline
from tidemill.contract.errors import ExitCode
from tidemill.steps.read_only.checks import dag_integrity

SUITE = {
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {
            "type": "expect_column_values_to_be_between",
            "kwargs": {"column": "quantity", "min_value": 1},
        }
    ],
}
WHOLE = "def transform(rows):\n    return rows\n"
KEYS = {"partition_by": {"day": "to_date(at)"}, "keys": ["id"]}
# Pipeline -> its transform, what its spec says besides, and of each file with a problem the text
# that the problem's line begins with; None where no line is known.
BROKEN: dict[str, tuple[str, dict[str, Any], dict[str, str | None]]] = {
    "sound": (WHOLE, {}, {}),
    "unknown_column": (
        'def transform(rows):\n    return rows.where("quantitty > 1")\n',
        {},
        {"unknown_column.py": "return"},
    ),
    "counts_rows": (
        "def transform(rows):\n    assert rows.count() >= 0\n    return rows\n",
        {},
        {"counts_rows.py": "assert"},
    ),
    "partition_lost": (
        'def transform(rows):\n    return rows.drop("day")\n',
        {},
        {"partition_lost.py": None},
    ),
    # Neither mistake hides the other.
    "key_lost_and_drawn": (
        "from pyspark.sql import functions as F\n\n\ndef transform(rows):\n"
        '    drawn = rows.withColumn("drawn", F.rand())\n    return drawn.drop("id")\n',
        {"output": KEYS},
        {"key_lost_and_drawn.yaml": "- id", "key_lost_and_drawn.py": "drawn ="},
    ),
    "drawn_and_accepted": (
        "from pyspark.sql import functions as F\n\n\ndef transform(rows):\n"
        '    return rows.withColumn("drawn", F.rand()).withColumn("now", F.current_timestamp())\n',
        {"deterministic": False},
        {},
    ),
    "loaded": (
        "def transform(rows, batch):\n"
        '    return rows.crossJoin(batch.selectExpr("at AS loaded", "interval_end"))\n',
        {"statics": {"batch": {"kind": "batch"}}, "output": {**KEYS, "keys": ["loaded"]}},
        {},
    ),
    "no_watermark": (
        'def transform(rows):\n    return rows.groupBy("day", "quantity").count()\n',
        {},
        {"no_watermark.py": None},
    ),
    "partition_a_time": (
        WHOLE,
        {"output": {"partition_by": {"hour": "date_trunc('hour', at)"}}},
        {"partition_a_time.yaml": "hour:"},
    ),
    "quantity_a_text": (
        'def transform(rows):\n    return rows.selectExpr("id", "string(quantity)", "day")\n',
        {},
        {"quantity_a_text.json": '"type"'},
    ),
    "quantity_renamed": (
        'def transform(rows):\n    return rows.withColumnRenamed("quantity", "number")\n',
        {},
        {"quantity_renamed.json": '"column"'},
    ),
    "reads_another": (
        "def transform(rows, prices):\n"
        '    return rows.join(prices.select("id"), "id").where(prices.price > 1)\n',
        {"statics": {"prices": {"kind": "table", "pipeline": "sound"}}},
        {"reads_another.py": "return"},
    ),
}


def spec(more: dict[str, Any]) -> dict[str, Any]:
    source = {
        "kind": "file",
        "format": "csv",
        "path": "/nowhere/at/all",
        "schema": "id string, quantity int, at timestamp",
    }
    output = {"partition_by": {"day": "to_date(at)"}}
    return {"sources": {"rows": source}, "event_time": {"column": "at"}, "output": output} | more


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(tmp_path))
    for name, (transform, more, _) in BROKEN.items():
        write_pipeline(tmp_path, name, spec(more), transform=transform, suite=SUITE)
        # With a line for each value.
        (tmp_path / f"dags/specs/{name}.yaml").write_text(yaml.safe_dump(spec(more)))
        suite = json.dumps({**SUITE, "name": name}, indent=2)
        (tmp_path / f"expectations/suites/{name}.json").write_text(suite)
    return tmp_path


@pytest.mark.usefixtures("spark")
def test_each_broken_pipeline_is_found_with_file_and_line_in_one_session(
    tidemill: Tidemill, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMILL_ROOT", str(project / "not-there"))
    without = tidemill("check", *BROKEN, "--json").json
    assert without["planned"] is False
    assert not [one for one in without["problems"] if not one["warning"]]

    answer = tidemill("check", *BROKEN, "--spark", "--json")

    assert answer.exit_code == ExitCode.USAGE
    found: dict[str, str | None] = {}
    for one in answer.json["problems"]:
        assert not one["warning"], one
        assert one["remedy"]
        file, line = Path(one["file"]), one["line"]
        assert file.name not in found, one
        found[file.name] = line and file.read_text().split("\n")[line - 1].strip()
    expected = {file: text for *_, files in BROKEN.values() for file, text in files.items()}
    assert found.keys() == expected.keys()
    for name, text in expected.items():
        assert str(found[name]).startswith(str(text)), name
    assert not (project / "not-there").exists()
    assert any(note.startswith("drawn_and_accepted: ") for note in answer.json["notes"])
