"""Around a query: what it would misread is refused, and what became of its files is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_log_builder import write_commit
from tidemill.generations.verify import open_generation
from tidemill.sources.files.content_problems import InputOfOtherSchema
from tidemill.sources.files.problems import InputChanged, InputRedelivered
from tidemill.sources.probe import probe_sources, report_sources
from tidemill.sources.probe_result import refuse_held


def history_of(home: Path, source: str = "") -> History:
    (home / "one").mkdir()
    return History(home / "one", source=source)


def growing(history: History) -> Path:
    """A batch whose file grows between its listing and the end of the run."""
    file = history.arrive("a.csv", "id,at\n1,\n")
    history.batch(rows(1), inputs=[file], commit=False)
    with file.open("a") as content:
        content.write("2,\n")
    write_commit(history.checkpoint, 0)
    history.ledger.complete()
    return file


def test_a_file_that_grew_while_it_was_read_stops_the_run_before_the_gate(tmp_path: Path) -> None:
    history = history_of(tmp_path)
    file = growing(history)
    with pytest.raises(InputChanged) as refused:
        report_sources(history.run(), history.ledger.batches(), history.ledger.batches())
    assert refused.value.files == [str(file)]


def test_one_that_was_replaced_stops_it_too(tmp_path: Path) -> None:
    history = history_of(tmp_path)
    file = history.arrive("a.csv", "id,at\n1,\n")
    history.batch(rows(1), inputs=[file])
    history.arrive("draft.tmp", "id,at\n22,\n").rename(file)
    with pytest.raises(InputRedelivered):
        report_sources(history.run(), history.ledger.batches(), history.ledger.batches())


def test_where_the_spec_lets_it_pass_it_is_said(tmp_path: Path) -> None:
    history = history_of(tmp_path, ", changed: warn")
    file = growing(history)
    said: list[str] = []
    (found,) = report_sources(
        replace(history.run(), log=said.append), history.ledger.batches(), history.ledger.batches()
    )
    assert [str(file) in line for line in said] == [True]
    assert (found.facts["read"], found.facts["changed"]) == (1, 1)


def test_what_the_doctor_has_said_of_passed_over_files_is_only_counted(tmp_path: Path) -> None:
    history = history_of(tmp_path)
    history.arrive("_a.csv", "id,at\n1,\n")
    said: list[str] = []
    (found,) = report_sources(replace(history.run(), log=said.append), [], [])
    assert (said, found.facts["passed_over"]) == ([], 1)


def parquet(history: History, name: str, columns: dict[str, list[object]]) -> Path:
    path = history.inputs / name
    pq.write_table(pa.table(columns), path)
    return path


def of_parquet(home: Path, source: str = "") -> History:
    history = history_of(home, source)
    spec = history.project.spec("orders")
    spec.write_text(spec.read_text().replace("format: csv", "format: parquet"))
    return history


def test_what_is_wrong_with_new_files_is_for_the_next_run(tmp_path: Path) -> None:
    history = of_parquet(tmp_path)
    parquet(history, "new.parquet", {"id": [1]})
    (found,) = report_sources(history.run(), [], [])
    assert [problem.error.code for problem in found.problems] == ["InputOfOtherSchema"]


def test_before_a_query_they_stop_it(tmp_path: Path) -> None:
    history = of_parquet(tmp_path)
    lacking = parquet(history, "new.parquet", {"id": [1]})
    pipeline = history.pipeline
    with pytest.raises(InputOfOtherSchema) as refused:
        refuse_held(probe_sources(pipeline, [])[0].problems)
    assert refused.value.files == [str(lacking)]


def test_a_batch_that_has_read_one_all_the_same_is_not_written_down_until_the_spec_says_so(
    tmp_path: Path,
) -> None:
    history = of_parquet(tmp_path)
    lacking = parquet(history, "late.parquet", {"id": [1]})
    history.batch(rows(1), inputs=[lacking], commit=False)
    write_commit(history.checkpoint, 0)
    with pytest.raises(InputOfOtherSchema):
        open_generation(history.pipeline).ledger.complete()
    assert history.ledger.batches() == []
    spec = history.project.spec("orders")
    spec.write_text(spec.read_text().replace("parquet", "parquet, other_schema: warn", 1))
    open_generation(history.pipeline).ledger.complete()
    assert len(history.ledger.batches()) == 1
