"""The specs that the pages on chains, object stores and sizing show are ones that run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Tidemill
from tests.support.check_problems import SPEC
from tests.support.pages import BLOCKS
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.spec_text import minimal, parse
from tidemill.steps.read_only.checks import dag_integrity


@pytest.fixture(autouse=True)
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)


def write(mill: OrdersPipeline, name: str, shown: dict[str, Any]) -> None:
    """A pipeline with the spec of a page."""
    transform = "def transform(rows):\n    return rows\n"
    JsonPipeline(mill.home, {}, shown, transform, name=name)


def problems(tidemill: Tidemill, name: str) -> list[Any]:
    found: list[Any] = tidemill("check", name, "--json").json["problems"]
    return found


def test_a_chain_is_written_as_its_page_says(tidemill: Tidemill, mill: OrdersPipeline) -> None:
    spec = mill.home / "project" / SPEC
    orders = yaml.safe_load(spec.read_text())
    write(mill, "shop_orders", orders)
    for name, block in (("limited", "chain-limits"), ("pounds", "chain")):
        write(mill, name, yaml.safe_load(BLOCKS[block]))
        assert problems(tidemill, name) == []
    chain = tidemill("status", "pounds", "--json").pipeline["chain"]
    assert [one["pipeline"] for one in chain["upstream"]] == ["shop_orders"]


@pytest.mark.parametrize("cleaned", [False, True])
def test_objects_are_fetched_as_their_page_says(
    tidemill: Tidemill, mill: OrdersPipeline, tmp_path: Path, cleaned: bool
) -> None:
    shown = BLOCKS["fetch"]
    if cleaned:
        shown = shown[: shown.index("    fetch:")] + BLOCKS["fetch-clean"]
    shown = shown.replace("/data/landing", str(tmp_path))
    write(mill, "deliveries", {**yaml.safe_load(shown), "event_time": {"column": "at"}})
    assert problems(tidemill, "deliveries") == []


def test_the_limits_of_a_rollover_that_the_page_shows_are_the_defaults() -> None:
    assert parse(minimal(BLOCKS["rollover"])).rollover == parse(minimal()).rollover
