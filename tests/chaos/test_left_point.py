"""What a killed driver left on the disk says at which point of Spark's protocol it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.left_point import left_point
from tidemill.contract.layout import FIRST_GENERATION, Layout

RUN = "run-001"
CHECKPOINT = f"checkpoints/{FIRST_GENERATION}"
SINK = f"table/_{FIRST_GENERATION}"
# A batch that is in the ledger, and the plan of the next.
WHOLE = (
    "lease/000001.json",
    f"{CHECKPOINT}/sources/events/0",
    f"{CHECKPOINT}/offsets/0",
    f"{SINK}/_spark_metadata/0",
    f"{CHECKPOINT}/commits/0",
)
LEDGER = f"ledger/{FIRST_GENERATION}/000000.json"
PLANNED = (*WHOLE, LEDGER, f"{CHECKPOINT}/sources/events/1", f"{CHECKPOINT}/offsets/1")


@pytest.mark.parametrize(
    ("files", "point"),
    [
        ((), "not begun"),
        (WHOLE, "K9"),
        ((*WHOLE, LEDGER), "between batches"),
        ((*WHOLE, LEDGER, f"{CHECKPOINT}/sources/events/1"), "K1"),
        ((*WHOLE, LEDGER, f"{CHECKPOINT}/sources/events/.2.compact.u.tmp"), "K11"),
        ((*WHOLE, LEDGER, f"{CHECKPOINT}/offsets/.1.u.tmp"), "K2"),
        (PLANNED, "K3"),
        ((*PLANNED, f"{SINK}/part-half.parquet"), "K4"),
        ((*PLANNED, f"{SINK}/part-whole.parquet"), "K5"),
        ((*PLANNED, f"{SINK}/_spark_metadata/.1.u.tmp"), "K6"),
        ((*PLANNED, f"{SINK}/batch=1/._manifest.json.u.draft"), "K6"),
        ((*PLANNED, f"{SINK}/_spark_metadata/.1.compact.u.tmp"), "K11"),
        ((*PLANNED, f"{SINK}/_spark_metadata/1"), "K7"),
        ((*PLANNED, f"{SINK}/batch=1/_manifest.json"), "K7"),
        ((*PLANNED, f"{CHECKPOINT}/commits/.1.u.tmp"), "K8"),
        ((*PLANNED, f"runs/{RUN}/ingest.json"), "done"),
    ],
)
def test_a_driver_was_at_the_point_that_its_files_tell(
    tmp_path: Path, files: tuple[str, ...], point: str
) -> None:
    layout = Layout(tmp_path, "orders")
    for name in files:
        path = layout.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"PAR1" if "whole" in name else b"")
    assert left_point(layout, 0.0, RUN) == point
