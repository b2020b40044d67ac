"""Epochs of a continuous query: Spark's logs of them, the ledger's, and what must not be mixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.spark_log_builder import (
    write_commit,
    write_metadata,
    write_named_offsets,
)
from tests.support.pipelines.ungated_pipeline import UngatedPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.generations.execution import ExecutionChanged, verify_execution
from tidemill.generations.verify import CommitsLost, open_generation
from tidemill.ledger.batch import Counts
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Ledger, Start
from tidemill.ledger.source_record import bind_sources
from tidemill.spark_logs.offset_log import read_offsets
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents


@dataclass(frozen=True)
class Logs:
    """A pipeline with a sink of Spark's own, whose checkpoint is written by hand."""

    pipeline: Pipeline

    def begin(self, *, continuous: bool) -> Ledger:
        layout = self.pipeline.layout
        checkpoint = layout.checkpoint(FIRST_GENERATION)
        note = GenerationNote(
            generation=FIRST_GENERATION,
            query_id="86022cb6",
            checkpoint=checkpoint,
            sink=layout.sink(FIRST_GENERATION),
            writes="nothing",
            continuous=continuous,
            table_schema={},
            partition_by={},
            timezone="UTC",
            spec_hash="",
            code_hash="",
            born=datetime.now(UTC),
        )
        documents.put_if_absent(layout.note(FIRST_GENERATION), note)
        write_metadata(checkpoint, note.query_id)
        bind_sources(layout, FIRST_GENERATION, self.pipeline.spec)
        ledger = Ledger(layout, FIRST_GENERATION)
        start: dict[str, Any] = {"epoch": 1, "run_id": "run", "spec_hash": "", "code_hash": ""}
        ledger.start(Start(**start, table_schema={}, last_written=-1, at=datetime.now(UTC)))
        return ledger

    def epoch(self, number: int, offset: str, *, commit: bool = True) -> Path:
        """An epoch as Spark 4.2 writes it: without watermark and settings, its source unnamed."""
        checkpoint = self.pipeline.layout.checkpoint(FIRST_GENERATION)
        file = checkpoint / "offsets" / str(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"v1\n\n{offset}")
        if commit:
            write_commit(checkpoint, number)
        return file


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(UngatedPipeline(tmp_path, {"kind": "console"}).pipeline)


def test_an_epoch_has_offsets_and_no_watermark(logs: Logs) -> None:
    entry = read_offsets(logs.epoch(3, '{"topic":{"0":7}}'), 3)
    assert dict(entry.sources) == {"0": {"topic": {"0": 7}}}
    assert (entry.watermark_ms, dict(entry.conf)) == (0, {})


def test_the_ledger_names_the_source_of_an_epoch(logs: Logs) -> None:
    ledger = logs.begin(continuous=True)
    logs.epoch(0, '{"topic":{"0":7}}')
    (batch,) = ledger.complete()
    assert batch.offsets == {"lines": {"topic": {"0": 7}}}
    assert (batch.rows_in, batch.rows, batch.outputs) == (None, 0, ())


def test_epochs_may_be_planned_ahead_of_their_commits(logs: Logs) -> None:
    logs.begin(continuous=True)
    logs.epoch(0, '{"topic":{"0":1}}')
    for ahead in (1, 2, 3):
        logs.epoch(ahead, '{"topic":{"0":2}}', commit=False)
    generation = open_generation(logs.pipeline)
    assert (generation.committed, generation.planned) == (0, 3)


def test_batches_may_not(logs: Logs) -> None:
    logs.begin(continuous=False)
    checkpoint = logs.pipeline.layout.checkpoint(FIRST_GENERATION)
    write_named_offsets(checkpoint, 0, lines=0)
    write_named_offsets(checkpoint, 1, lines=0)
    with pytest.raises(CommitsLost):
        open_generation(logs.pipeline)


@pytest.mark.parametrize("born", [True, False])
def test_a_generation_stays_as_it_was_born(logs: Logs, born: bool) -> None:
    logs.begin(continuous=born)
    generation = open_generation(logs.pipeline)
    verify_execution(generation, continuous=born)
    with pytest.raises(ExecutionChanged):
        verify_execution(generation, continuous=not born)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({0: Counts(5, {"malformed": 2, "rule small": 0})}, (5, 2, {"malformed": 2})),
        ({}, (0, 0, {})),
    ],
)
def test_a_batch_without_files_holds_what_its_query_counted(
    logs: Logs, counts: Mapping[int, Counts], expected: tuple[Any, ...]
) -> None:
    ledger = logs.begin(continuous=False)
    checkpoint = logs.pipeline.layout.checkpoint(FIRST_GENERATION)
    write_named_offsets(checkpoint, 0, lines=None)
    write_commit(checkpoint, 0)
    (batch,) = ledger.complete(counts=counts)
    assert (batch.rows, batch.rejected, batch.reasons) == expected
