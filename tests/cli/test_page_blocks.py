"""What the pages on chains, object stores and sizing show is accepted, and runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Tidemill
from tests.servers.s3 import LOGIN, PASSWORD, S3
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
    first, *more = (*shown["sources"], *shown.get("statics", {}))
    transform = f"def transform({', '.join((first, *more))}):\n    return {first}\n"
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


@pytest.mark.parametrize(
    "shown",
    [
        BLOCKS["fetch"],
        BLOCKS["fetch"].partition("    fetch:")[0] + BLOCKS["fetch-clean"],
        BLOCKS["fetch"] + BLOCKS["fetch-static"],
        BLOCKS["sizes"],
    ],
    ids=["fetch", "clean", "static", "sizes"],
)
def test_files_and_objects_are_read_as_the_pages_say(
    tidemill: Tidemill, mill: OrdersPipeline, tmp_path: Path, shown: str
) -> None:
    (tmp_path / "orders").mkdir()
    shown = shown.replace("/data/landing", str(tmp_path))
    write(mill, "deliveries", {**yaml.safe_load(shown), "event_time": {"column": "at"}})
    assert problems(tidemill, "deliveries") == []


def test_a_root_in_a_bucket_is_made_as_its_page_says(s3: S3) -> None:
    bucket = s3.fresh_bucket()
    given = {
        "s3a://shop-tidemill/": f"s3a://{bucket}/",
        '"login": "..."': f'"login": "{LOGIN}"',
        '"password": "..."': f'"password": "{PASSWORD}"',
        '"region_name"': f'"endpoint_url": "{s3.endpoint}", "region_name"',
    }
    block = BLOCKS["bucket-root"]
    for words, here in given.items():
        assert words in block
        block = block.replace(words, here)
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-ec", block], env={"PATH": programs}, check=True)
    assert "prod/.tidemill/root.json" in s3.objects(bucket)


def test_the_limits_of_a_rollover_that_the_page_shows_are_the_defaults() -> None:
    assert parse(minimal(BLOCKS["rollover"])).rollover == parse(minimal()).rollover
