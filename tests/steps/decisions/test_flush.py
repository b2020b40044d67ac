"""A flush is written down for the next run, or refused where it would change nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_log_builder import write_commit
from tests.support.remedies import carry_out
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.ledger.flushes import flushes
from tidemill.steps.decisions.checks import ReasonMissing
from tidemill.steps.decisions.flush import Flush, NothingToFlush, flush

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def windows(home: Path, pipeline_class: PipelineClass = PipelineClass.WINDOW) -> History:
    history = History(home / "pipeline", pipeline_class=pipeline_class)
    history.batch(rows(1))
    return history


def asked(history: History, to: datetime = NOON, *, reason: str = "the feed has ended") -> Flush:
    return flush(history.pipeline, to, by="ada", reason=reason, run_id="flush")


def test_it_is_kept_for_the_next_batch_with_name_and_reason(tmp_path: Path) -> None:
    history = windows(tmp_path)
    found = asked(history)
    assert (found.batch, found.by, found.reason) == (1, "ada", "the feed has ended")
    assert found.watermark_ms == NOON.timestamp() * 1000
    assert asked(history) == found
    assert flushes(history.layout, FIRST_GENERATION) == [found]


def test_another_waits_for_the_first_to_be_carried_out(tmp_path: Path) -> None:
    history = windows(tmp_path)
    first = asked(history)
    with pytest.raises(NothingToFlush):
        asked(history, NOON.replace(hour=13))
    assert flushes(history.layout, FIRST_GENERATION) == [first]


@pytest.mark.parametrize("pipeline_class", [PipelineClass.MAP, PipelineClass.UNBOUNDED])
def test_where_no_watermark_ends_anything_there_is_nothing_to_flush(
    pipeline_class: PipelineClass, tmp_path: Path
) -> None:
    history = windows(tmp_path, pipeline_class)
    with pytest.raises(NothingToFlush):
        asked(history)
    assert flushes(history.layout, FIRST_GENERATION) == []


def test_a_watermark_never_goes_back(tmp_path: Path) -> None:
    history = windows(tmp_path)
    write_commit(history.checkpoint, 0, int(NOON.timestamp() * 1000))
    with pytest.raises(NothingToFlush):
        asked(history)
    assert asked(history, NOON.replace(hour=13)).batch == 1


@pytest.mark.remedy("NothingToFlush")
def test_a_batch_that_was_begun_is_finished_first(tmp_path: Path) -> None:
    history = windows(tmp_path)
    history.batch(rows(2), commit=False)
    with pytest.raises(NothingToFlush) as refused:
        asked(history)
    carry_out(history, refused.value.remedy, "status")


def test_nobody_flushes_without_a_reason(tmp_path: Path) -> None:
    history = windows(tmp_path)
    with pytest.raises(ReasonMissing):
        asked(history, reason=" ")
    assert flushes(history.layout, FIRST_GENERATION) == []
