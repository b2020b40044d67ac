"""An increment that is held so long that Spark's own logs have forgotten its batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask
from tests.support.pipelines.sales_pipeline import TRANSFORM, row, sale, sales
from tidemill.contract.report import Outcome
from tidemill.journal.takeovers import current
from tidemill.toolchain import spark_conf

# What is true of as many batches as Spark is told to keep is true of these few. Not of fewer: the
# ledger follows Spark by a third of a second, in which Spark commits three of them.
RETAINED = 10
LATER = 15


def forgotten(flow: JsonPipeline, batch: int) -> bool:
    checkpoint = flow.layout.checkpoint(current(flow.layout))
    return not any((checkpoint / log / str(batch)).exists() for log in ("offsets", "commits"))


def test_it_can_still_be_released_or_computed_again(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_conf, "RETAINED_BATCHES", RETAINED)
    flow = sales(tmp_path)
    flow.arrive("sales", "3", [sale("g", 4, 2000)])
    assert flow.run("held")["gate"].outcome is Outcome.HELD
    for number in range(LATER):
        flow.arrive("sales", f"later-{number}", [sale(f"h{number}", 5, number + 1)])
    assert flow.run("behind")["publish"].outcome is Outcome.WAITING
    assert forgotten(flow, 2)
    ask(flow, "release", "let-out", increment=3)
    assert row("g", 4, 2000) in flow.published()
    assert len(flow.published()) == 6 + LATER

    flow.arrive("sales", "4", [sale("i", 6, 3000)])
    assert flow.run("held-again")["gate"].outcome is Outcome.HELD
    for number in range(LATER):
        flow.arrive("sales", f"latest-{number}", [sale(f"j{number}", 7, number + 1)])
    flow.run("behind-again")
    assert forgotten(flow, 3 + LATER)
    flow.write(TRANSFORM.format(factor=0))
    assert ask(flow, "redo", "mended")["publish"].outcome is Outcome.DONE
    tail = [one for one in flow.published() if one[2].day > 5]
    assert tail == sorted(
        [row("i", 6, 0), *(row(f"j{number}", 7, 0) for number in range(LATER))], key=repr
    )
