"""What is refused before Spark has computed anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.refused_states import published, suite_beside
from tidemill.contract.report import Outcome
from tidemill.engine.sources.static_inputs import StaticOfItself, pin_statics, read_statics
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.ledger.run_request import RunRequest
from tidemill.ledger.static_pins import StaticLost
from tidemill.steps.decisions.fork import NotGated, first_unpublished
from tidemill.steps.decisions.rebuild import NotCovered, NothingToRebuild, rebuild
from tidemill.steps.gate import SealBroken, gate

NO_SPARK: Any = None
REBUILD = RunRequest(role="rebuild", by="ada", reason="the rule was wrong")


@pytest.fixture
def generation(history: History) -> Generation:
    """What ran for a table; from then on the spec names a sink of Spark's own."""
    published(history)
    found = open_generation(history.pipeline)
    spec = history.project.spec("orders")
    sources, *_ = spec.read_text().split("event_time:")
    spec.write_text(f"{sources}sink: {{kind: console}}\n")
    return found


def test_what_went_to_a_sink_of_sparks_own_is_not_rebuilt(
    history: History, generation: Generation
) -> None:
    with pytest.raises(NothingToRebuild) as refused:
        rebuild(history.run("rebuild"), REBUILD)
    assert refused.value.pipeline == "orders"


def test_of_what_went_to_a_sink_of_sparks_own_nothing_waits(
    history: History, generation: Generation
) -> None:
    with pytest.raises(NotGated):
        first_unpublished(history.pipeline, history.snapshot, generation)


def test_a_rebuild_that_has_not_read_what_was_published_is_not_sealed(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(history)
    monkeypatch.setattr(
        "tidemill.steps.decisions.rebuild.fill_generation", lambda *_: "Spark has read nothing"
    )
    with pytest.raises(NotCovered) as refused:
        rebuild(history.run("rebuild"), REBUILD)
    assert [Path(file).name for file in refused.value.missing["named"]] == ["f0000.csv"]
    assert history.increments.numbers() == [1]


def test_an_increment_whose_record_was_changed_is_not_judged(history: History) -> None:
    history.batch(rows(1))
    history.seal("run-1")
    record = next((history.layout.home / "ledger").rglob("000000.json"))
    text = record.read_text()
    record.write_text(re.sub(r'"size": ?(\d+)', r'"size": 1\1', text))
    with pytest.raises(SealBroken) as refused:
        gate(history.run("run-1"))
    assert refused.value.increment == 1
    record.write_text(text)
    suite_beside(history)
    assert gate(history.run("run-1")).outcome is Outcome.DONE


def with_static(tmp_path: Path, static: dict[str, str]) -> History:
    return History(tmp_path / "pipeline", more=f"statics: {json.dumps({'names': static})}")


def test_a_pipeline_does_not_read_its_own_table(tmp_path: Path) -> None:
    history = with_static(tmp_path, {"kind": "table", "pipeline": "orders"})
    with pytest.raises(StaticOfItself) as refused:
        pin_statics(history.pipeline)
    assert refused.value.field == "statics.names.pipeline"


def test_a_copy_that_a_planned_batch_needs_is_not_made_up(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("id\n1\n")
    file = {"kind": "file", "format": "csv", "path": str(tmp_path / "names.csv")}
    history = with_static(tmp_path, {**file, "schema": "id string"})
    pins = pin_statics(history.pipeline)
    (copy,) = history.layout.statics.rglob("names.csv")
    copy.unlink()
    with pytest.raises(StaticLost) as refused:
        read_statics(NO_SPARK, history.pipeline, pins)
    assert refused.value.file == copy
