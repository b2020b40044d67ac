"""`tidemill check` finds chains of pipelines that cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.support.check_problems import found
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.steps.read_only.checks import dag_integrity

ROWS = "def transform({argument}):\n    return {argument}\n"


@pytest.fixture(autouse=True)
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)


def reading(mill: OrdersPipeline, name: str, upstream: str, **spec: Any) -> None:
    """Write a pipeline that reads another one's table."""
    source = {"kind": "table", "pipeline": upstream, "schema": "id string"}
    transform = ROWS.format(argument="rows")
    JsonPipeline(mill.home, {}, {"sources": {"rows": source}, **spec}, transform, name=name)


def problems_of(answer: Any, name: str) -> list[str]:
    assert all(f"{name}.yaml" in file for file, _, _ in found(answer))
    return [problem["what"] for problem in answer.json["problems"]]


@pytest.mark.parametrize(
    ("upstream", "said"),
    [
        ("nowhere", "names no pipeline"),
        ("reports", "the table of this very pipeline"),
        ("console", "publishes none"),
        ("totals", "changes rows"),
        ("second", "reports reads second reads reports"),
    ],
)
def test_a_table_that_cannot_be_read_is_found(
    tidemill: Tidemill, mill: OrdersPipeline, upstream: str, said: str
) -> None:
    reading(mill, "second", "reports")
    reading(mill, "console", "orders", sink={"kind": "console"})
    reading(mill, "totals", "orders", output={"mode": "update", "keys": ["id"]})
    reading(mill, "reports", upstream)
    (what,) = problems_of(tidemill("check", "reports", "--json"), "reports")
    assert said in what
