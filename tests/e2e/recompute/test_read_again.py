"""What a batch read can be read once more as it was, wherever its files are."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.partition_paths import disk_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = """
def transform(events):
    return events
"""


def again(flow: JsonPipeline, spark: SparkSession) -> list[tuple[Any, ...]]:
    from tidemill.engine.sources.reread import read_again

    ledger = Ledger(flow.layout, FIRST_GENERATION)
    batches = ledger.batches()
    found: list[tuple[Any, ...]] = []
    for number, batch in enumerate(batches):
        before = batches[number - 1] if number else None
        rows = read_again(spark, flow.pipeline, ledger, batch, before)["events"]
        found += (tuple(row) for row in rows.select("word", "day").collect())
        origins = {row[0] for row in rows.select("_origin").collect()}
        # The file as it was when it was read.
        assert {Path(disk_path(origin)) for origin in origins} == {
            file.on_disk for file in batch.inputs
        }
    return sorted(found)


def test_files_in_partitions_are_read_with_these_also_from_the_archive(
    tmp_path: Path, spark: SparkSession
) -> None:
    from tidemill.engine.sources.input_gone import InputGone

    archive = tmp_path / "put away"
    cleaned = {"cleanSource": "archive", "sourceArchiveDir": str(archive)}
    flow = JsonPipeline(
        tmp_path, {"events": "word string, day date"}, {"sources": {"events": cleaned}}, ROWS
    )
    for day, word in (("2026-03-01", "tide"), ("2026-03-02", "mill")):
        file = flow.arrive("events", word, [{"word": word}])
        folder = file.parent / f"day={day}"
        folder.mkdir()
        file.rename(folder / file.name)
    flow.step("ingest", "first")
    expected = [("mill", date(2026, 3, 2)), ("tide", date(2026, 3, 1))]
    assert again(flow, spark) == expected
    flow.step("gate", "first")
    flow.step("publish", "first")
    archived = sorted(archive.rglob("*.json"))
    assert [path.stem for path in archived] == ["tide", "mill"]
    assert again(flow, spark) == expected
    archived[0].unlink()
    with pytest.raises(InputGone) as gone:
        again(flow, spark)
    assert gone.value.data["source"] == "events"
