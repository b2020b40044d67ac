"""Figures on a query's state, as Spark reported them last."""

from collections.abc import Iterable, Mapping
from typing import Any

from tidemill.contract.document import FrozenModel

SST_BYTES = "rocksdbSstFileSize"


class OperatorFigures(FrozenModel):
    """The state of one operator.

    Attributes:
        operator: Its number, as in the checkpoint.
        name: Spark's, such as `stateStoreSave`.
        memory_bytes: That they take in the executors' memory.
        disk_bytes: The disk bytes of RocksDB's files; None with another store.
        partitions: Over which they are divided.
        numRowsDroppedByWatermark: Spark's own count over the run's batches, of what was left of
            late rows after a partial aggregation.
    """

    operator: int
    name: str
    rows: int
    memory_bytes: int
    disk_bytes: int | None
    partitions: int
    numRowsDroppedByWatermark: int


class StateFigures(FrozenModel):
    """The state of a query after its last batch.

    Attributes:
        batch: The last one that was reported on.
        watermark: The watermark of it, as Spark writes it; None without event time.
    """

    batch: int
    watermark: str | None
    operators: tuple[OperatorFigures, ...]


def state_figures(reports: Mapping[int, Mapping[str, Any]]) -> StateFigures | None:
    """The state after the last batch of a run.

    Args:
        reports: Batch -> its StreamingQueryProgress.

    Returns:
        None where no batch ran, or the query keeps nothing.
    """
    if not reports:
        return None
    last = max(reports)
    operators = reports[last].get("stateOperators") or ()
    if not operators:
        return None
    return StateFigures(
        batch=last,
        watermark=(reports[last].get("eventTime") or {}).get("watermark"),
        operators=tuple(
            OperatorFigures(
                operator=number,
                name=one["operatorName"],
                rows=one["numRowsTotal"],
                memory_bytes=one["memoryUsedBytes"],
                disk_bytes=(one.get("customMetrics") or {}).get(SST_BYTES),
                partitions=one["numShufflePartitions"],
                numRowsDroppedByWatermark=_dropped(reports.values(), number),
            )
            for number, one in enumerate(operators)
        ),
    )


def _dropped(reports: Iterable[Mapping[str, Any]], operator: int) -> int:
    return sum(
        report["stateOperators"][operator]["numRowsDroppedByWatermark"]
        for report in reports
        if len(report.get("stateOperators") or ()) > operator
    )
