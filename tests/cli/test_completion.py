"""The shell offers pipelines, runs, increments and codes where they can be typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.histories.history_builder import History, rows
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.cli.app import app
from tidemill.contract.layout import Layout

Offered = Callable[[str], list[str]]


@pytest.fixture
def offered() -> Offered:
    """What bash offers for the last word of a line; an empty word after a blank."""

    def call(line: str) -> list[str]:
        words = line.split(" ")
        environ = {
            "_TIDEMILL_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        return CliRunner().invoke(app, [], env=environ, prog_name="tidemill").stdout.split()

    return call


@pytest.mark.parametrize(
    "command",
    [
        "run", "run shop_orders", "status", "doctor", "check", "stream", "rows", "backfill",
        "journal show", "state show", "lease repair", "upgrade", "schema infer",
    ],
)  # fmt: skip
@pytest.mark.usefixtures("mill")
def test_a_pipelines_name_is_offered(offered: Offered, command: str) -> None:
    assert offered(f"tidemill {command} ord") == ["orders"]


@pytest.mark.usefixtures("mill")
def test_examples_and_codes_are_offered(offered: Offered) -> None:
    assert offered("tidemill example copy windowed") == ["windowed_words"]
    assert offered("tidemill explain DiskF") == ["DiskFull"]


def test_the_runs_of_the_pipeline_are_offered(offered: Offered, mill: OrdersPipeline) -> None:
    runs = Layout(Path(mill.environ["TIDEMILL_ROOT"]), "orders")
    for run_id in ("manual-1", "scheduled-1"):
        runs.run(run_id).mkdir(parents=True)

    assert offered("tidemill run orders --run-id man") == ["manual-1"]
    assert {*offered("tidemill run orders --run-id ")} == {"manual-1", "scheduled-1"}
    assert offered("tidemill run shop_orders --run-id ") == []


def test_the_increments_of_the_pipeline_are_offered(offered: Offered, history: History) -> None:
    history.increment(rows(1))

    assert offered("tidemill release orders 00") == ["000001"]
    assert offered("tidemill rows orders --increment ") == ["000001"]


def test_without_a_root_nothing_is_offered_and_nothing_breaks(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEMILL_ROOT", raising=False)

    assert offered("tidemill run shop_orders --run-id ") == []
