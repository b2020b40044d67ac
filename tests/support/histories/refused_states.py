"""States of a pipeline in which something is refused, as files on disk."""

from __future__ import annotations

import json
import shutil

from tests.support.histories.generation_builder import days, made_again, reject_increment
from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.histories.spark_log_builder import write_named_offsets
from tidemill.generations.build import begin_build

UNIQUE = {"type": "expect_column_values_to_be_unique", "kwargs": {"column": "id"}}
SUITE = {
    "name": "orders",
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [{**UNIQUE, "severity": "critical"}],
}


def suite_beside(history: History) -> None:
    """The files that a gate and a rebuild read."""
    for path in (history.pipeline.transform_file, history.pipeline.suite_file):
        path.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    history.pipeline.suite_file.write_text(json.dumps(SUITE))


def published(history: History) -> None:
    suite_beside(history)
    history.increment(rows(1))
    history.publish()


def file_of_a_published_batch_torn_and_gone(history: History) -> None:
    published(history)
    (history.sink / "_spark_metadata" / "0").write_text("")
    history.files(0)[0].unlink()


def rejected_while_it_was_rebuilt(history: History) -> None:
    published(history)
    history.increment(rows(2), outcome="held")
    built = begin_build(history.pipeline, "rebuild", "rebuild")
    made_again(history, rows(3), kind="rebuild", run_id="rebuild", generation=built.generation)
    reject_increment(history, 2)


def lost_its_race_without_a_request(history: History) -> None:
    published(history)
    made_again(history, [row(20)], partitions=days("2024-01-01"))
    history.increment(rows(2))
    history.publish()


def input_gone(history: History) -> None:
    published(history)
    shutil.rmtree(history.inputs)
    history.inputs.mkdir()


def planned_after_a_gap(history: History) -> None:
    published(history)
    for number in (1, 2):
        write_named_offsets(history.checkpoint, number, orders=0)


def rejected_rows_of_no_partition(history: History) -> None:
    published(history)
    history.increment([], [reject("x")])
    history.publish()


def journal_set_back(history: History) -> None:
    published(history)
    history.increment(rows(2))
    history.publish()
    for file in history.layout.journal.glob("000002.*"):
        file.unlink()


def table_set_back(history: History) -> None:
    published(history)
    history.increment(rows(2))
    history.publish()
    max((history.layout.table / "_delta_log").glob("*.json")).unlink()
    history.increment(rows(3))


def started_over_beside_an_old_table(history: History) -> None:
    published(history)
    history.increment(rows(2))
    history.publish()
    for folder in ("increments", "journal", "ledger", "checkpoints"):
        shutil.rmtree(history.layout.home / folder)
    shutil.rmtree(history.sink / "_spark_metadata")
    history.increment(rows(3, 4))
