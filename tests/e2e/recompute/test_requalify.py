"""Published rows judged again by a newer suite, and rejected rows by fixed rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.sales_pipeline import SUITE, TRANSFORM, row, sales
from tidemill.cli.app import app
from tidemill.contract.errors import ExitCode
from tidemill.journal.takeovers import current
from tidemill.ledger.ledger import Ledger


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JsonPipeline:
    found = sales(tmp_path)
    for name in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS"):
        monkeypatch.setenv(name, found.environ[name])
    return found


def tidemill(*arguments: str) -> tuple[int, dict[str, Any]]:
    found = CliRunner().invoke(app, [*arguments, "--json"])
    return found.exit_code, json.loads(found.stdout)


def test_a_newer_suite_tells_what_it_would_have_held_and_changes_nothing(
    flow: JsonPipeline, spark: object
) -> None:
    stricter = json.loads(json.dumps(SUITE))
    stricter["expectations"][0]["kwargs"]["max_value"] = 45
    flow.suite = stricter
    flow.write()
    version, batches = DeltaTable(flow.layout.table).version(), len(_batches(flow))
    code, report = tidemill("requalify", flow.name)
    assert code == ExitCode.HELD
    assert [(one["increment"], one["rows"], one["outcome"]) for one in report["found"]] == [
        (1, 2, "passed"),
        (2, 3, "held"),
    ]
    assert (DeltaTable(flow.layout.table).version(), len(_batches(flow))) == (version, batches)
    flow.write(TRANSFORM.replace("{factor}", "0"))
    code, asked = tidemill("requalify", flow.name, "--backfill")
    assert (code, asked["request"]["role"]) == (ExitCode.DONE, "backfill")
    assert [total for _, total, _ in flow.published()] == [0] * 5
    assert tidemill("requalify", flow.name)[0] == ExitCode.DONE


def test_rejected_rows_are_replayed_by_todays_rules(flow: JsonPipeline, spark: object) -> None:
    flow.write(row_rules={})
    code, _ = tidemill("replay", flow.name)
    assert code == ExitCode.DONE
    assert row("b", 1, -1) in flow.published()
    assert DeltaTable(flow.layout.rejected).to_pyarrow_table().num_rows == 0
    code, refused = tidemill("replay", flow.name)
    assert code == ExitCode.REFUSED, refused


def _batches(flow: JsonPipeline) -> list[Any]:
    return Ledger(flow.layout, current(flow.layout)).batches()
