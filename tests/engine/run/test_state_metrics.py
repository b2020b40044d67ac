"""What a query keeps between its batches, read from Spark's progress reports."""

from __future__ import annotations

from typing import Any

from tidemill.engine.run.state_metrics import state_figures


def report(*operators: dict[str, Any], watermark: str | None = None) -> dict[str, Any]:
    event_time = {"watermark": watermark} if watermark else None
    return {"stateOperators": list(operators), "eventTime": event_time}


def operator(name: str, rows: int, dropped: int = 0, **custom: int) -> dict[str, Any]:
    return {
        "operatorName": name,
        "numRowsTotal": rows,
        "memoryUsedBytes": 100 * rows,
        "numShufflePartitions": 2,
        "numRowsDroppedByWatermark": dropped,
        "customMetrics": custom,
    }


def test_the_figures_are_those_of_the_last_batch() -> None:
    figures = state_figures(
        {
            8: report(operator("stateStoreSave", 9), watermark="2026-03-01T11:00:00.000Z"),
            10: report(operator("stateStoreSave", 2), watermark="2026-03-01T12:00:00.000Z"),
            9: report(operator("stateStoreSave", 5)),
        }
    )
    assert figures is not None
    assert (figures.batch, figures.watermark) == (10, "2026-03-01T12:00:00.000Z")
    assert [(one.name, one.rows, one.memory_bytes) for one in figures.operators] == [
        ("stateStoreSave", 2, 200)
    ]


def test_dropped_rows_are_counted_over_all_batches_for_each_operator() -> None:
    figures = state_figures(
        {
            0: report(operator("join", 1, dropped=2), operator("dedupe", 1, dropped=30)),
            1: report(operator("join", 1, dropped=3), operator("dedupe", 1, dropped=40)),
            # A batch of before the query had its second operator.
            -1: report(operator("join", 1, dropped=5)),
        }
    )
    assert figures is not None
    dropped = [(one.operator, one.numRowsDroppedByWatermark) for one in figures.operators]
    assert dropped == [(0, 10), (1, 70)]


def test_only_a_store_with_files_has_bytes_on_disk() -> None:
    figures = state_figures(
        {0: report(operator("a", 1, rocksdbSstFileSize=4096), operator("b", 1))}
    )
    assert figures is not None
    assert [one.disk_bytes for one in figures.operators] == [4096, None]


def test_a_query_that_keeps_nothing_has_no_figures() -> None:
    assert state_figures({}) is None
    assert state_figures({3: report()}) is None
