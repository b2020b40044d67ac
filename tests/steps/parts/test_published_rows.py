"""What a check of the whole table sees beside an increment, in each output mode."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.histories.history_builder import History, rows
from tests.support.histories.net_history_builder import NetHistory, count, hour
from tidemill.file_formats.parquet_rows import row_chunks
from tidemill.gate.sample import SampleFile
from tidemill.steps.parts.published_rows import published_beside

FIRST, SECOND = date(2024, 1, 1), date(2024, 1, 2)
BY_DAY = {"day": pa.date32()}


def beside(history: History, files: Sequence[SampleFile]) -> list[tuple[Any, ...]]:
    """The rows of the files that are shown."""
    schema = pa.schema([*history.columns, *history.partitions.items()])
    with published_beside(history.layout, history.pipeline.spec.output, files) as shown:
        found = [
            tuple(row.values())
            for file in shown
            for chunk in row_chunks(file.path, file.partition, schema)
            for row in chunk.to_pylist()
        ]
    return sorted(found, key=str)


def judged(history: NetHistory) -> list[SampleFile]:
    """The net payload of a new increment, as the gate judges it."""
    sealed = history.seal()
    folder = history.increments.folder_of(sealed.increment)
    return [SampleFile(folder / file.path, folder, {}) for file in sealed.net or ()]


def test_nothing_is_beside_a_first_increment(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline")
    history.batch([count("open", 1, 1)])
    assert beside(history, judged(history)) == []


def test_rows_that_are_replaced_are_not_seen_twice(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline")
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    history.publish()
    history.batch([count("open", 1, 2), count("open", 2, 1)])

    assert beside(history, judged(history)) == [("close", hour(1), 1)]


def test_only_the_partitions_of_the_increment_are_seen(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline", partitions=BY_DAY, keys=("action", "hour", "day"))
    history.increment(
        [count(action, 1, 1, day=day) for action in ("open", "close") for day in (FIRST, SECOND)]
    )
    history.publish()
    history.batch([count("open", 1, 2, day=SECOND)])

    assert beside(history, judged(history)) == [("close", hour(1), 1, SECOND)]


def test_beside_the_whole_result_there_is_nothing(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline", mode="complete", keys=())
    history.increment([count("open", 1, 1)])
    history.publish()
    history.batch([count("open", 1, 2)])

    assert beside(history, judged(history)) == []


def test_appended_rows_stand_beside_all_of_their_partitions(tmp_path: Path) -> None:
    history = History(tmp_path / "pipeline")
    history.increment([*rows(1, day=FIRST), *rows(2, day=SECOND)])
    history.publish()
    history.batch(rows(3, day=SECOND))
    (new,) = history.files(1)

    shown = beside(history, [SampleFile(new, history.sink, {"day": str(SECOND)})])

    assert [row[0] for row in shown] == [2]


def test_what_was_written_for_the_check_is_gone_after_it(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline")
    history.increment([count("open", 1, 1)])
    history.publish()
    history.batch([count("close", 1, 1)])
    output = history.pipeline.spec.output
    with published_beside(history.layout, output, judged(history)) as (file,):
        assert pq.read_metadata(file.path).num_rows == 1
    assert not file.path.exists()
