"""A person's decision leads past what the table refuses, and past an unwanted backfill."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pipelines.recompute_requests import ask, days
from tests.support.pipelines.sales_pipeline import TRANSFORM, row, sale, sales
from tidemill.contract.report import Outcome
from tidemill.increments.snapshot import Snapshot
from tidemill.publish.delta.table_schema import SchemaChanged
from tidemill.publish.delta.target import DeltaTarget


def refuse(*_: object) -> None:
    raise SchemaChanged("No.", remedy="Mend it.", changes=[])


def test_a_refused_increment_is_redone_and_a_held_backfill_is_dropped(
    tmp_path: Path, spark: object
) -> None:
    flow = sales(tmp_path)
    before = flow.published()
    flow.arrive("sales", "3", [sale("g", 4, 60)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaTarget, "_commit", refuse)
        refused = flow.run("refused")["publish"]
    assert refused.outcome is Outcome.REFUSED
    assert refused.error is not None
    assert "tidemill redo" in refused.error["remedy"]
    assert [event.increment for event in Snapshot(flow.layout).events] == [1, 2, 3]

    flow.write(TRANSFORM.format(factor=2))
    assert ask(flow, "redo", "redone")["publish"].outcome is Outcome.DONE
    after = sorted([*before, row("g", 4, 120)], key=repr)
    assert flow.published() == after
    assert [event.increment for event in Snapshot(flow.layout).events] == [1, 2, 4]

    flow.write(TRANSFORM.format(factor=1000))
    assert ask(flow, "backfill", "too-much", **days(1, 2))["gate"].outcome is Outcome.HELD
    assert ask(flow, "reject", "dropped", increment=5)["publish"].outcome is Outcome.DONE
    assert flow.published() == after
