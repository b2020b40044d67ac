"""The shipped pipelines `device_signals` and `device_totals`, against DuckDB and plain Python."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import duckdb

from tests.support.pipelines.shipped_pipeline import Shipped
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.samples import devices

REPORTS = """
    SELECT * FROM read_json($1, format = 'newline_delimited', columns = {'device': 'VARCHAR',
        'type': 'VARCHAR', 'signal': 'DECIMAL(6,2)', 'at': 'TIMESTAMP'})
    WHERE type IS NOT NULL
"""


def query(building: Shipped, sql: str) -> list[tuple[Any, ...]]:
    files = [f"{building.input}/devices/*.json"]
    found = duckdb.connect().execute(f"WITH reports AS ({REPORTS}) {sql}", files).fetchall()
    return sorted(found, key=repr)


def test_device_signals_are_the_reports_above_the_noise(tmp_path: Path, spark: object) -> None:
    building = Shipped("device_signals", tmp_path)
    for number in (1, 2):
        devices.write_file(building.input / "devices", number)
    building.run()
    expected = query(
        building, 'SELECT device, signal, epoch_us("at") FROM reports WHERE signal > 10'
    )
    found = building.published("device", "signal", "at", "day")
    assert sorted(((d, s, int(t.timestamp() * 1e6)) for d, s, t, _ in found), key=repr) == expected
    assert all(at.date() == day for _, _, at, day in found)
    assert building.rejected() == ["rule type_known"] * 2
    assert building.kind is PipelineClass.MAP


def test_device_totals_are_those_of_all_reports_however_late(tmp_path: Path, spark: object) -> None:
    building = Shipped("device_totals", tmp_path)
    for number in (1, 2):
        devices.write_file(building.input / "devices", number)
        building.run()
        sums = query(building, "SELECT type, count(*), sum(signal) FROM reports GROUP BY ALL")
        # Spark's mean of decimals with two places has six.
        expected = [
            (kind, many, (total / many).quantize(Decimal("0.000001"), ROUND_HALF_UP))
            for kind, many, total in sums
        ]
        assert building.published("type", "reports", "mean_signal") == expected
    assert sum(many for _, many, _ in expected) == 2 * devices.ROWS - 2
    assert building.kind is PipelineClass.UNBOUNDED
