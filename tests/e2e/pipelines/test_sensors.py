"""The shipped pipelines `sensor_windows` and `sensor_baselines`, against plain Python."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from tests.support.pipelines.shipped_pipeline import Row, Shipped, windows
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.samples import sensors

FIVE, TEN = timedelta(minutes=5), timedelta(minutes=10)
SHAPES = {"tumbling": (FIVE, FIVE), "sliding": (TEN, FIVE)}
# Spark's mean of decimals with two places has six.
MEAN = Decimal("0.000001")
AGGREGATES = ("readings", "mean", "lowest", "highest", "error_codes")


def aggregates(rows: list[Row]) -> tuple[Any, ...]:
    values = [Decimal(str(row["value"])).quantize(Decimal("0.01")) for row in rows]
    mean = (sum(values, Decimal(0)) / len(values)).quantize(MEAN, ROUND_HALF_UP)
    codes = sorted({row["error_code"] for row in rows} - {None})
    return len(rows), mean, min(values), max(values), codes


def test_sensor_windows_have_two_shapes_and_all_their_aggregates(
    tmp_path: Path, spark: object
) -> None:
    building = Shipped("sensor_windows", tmp_path)
    for files in ((1, 2), (3, 4)):
        for number in files:
            sensors.write_file(building.input / "sensors", number)
        building.run()

    kept: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    late = dict.fromkeys(SHAPES, 0)
    for batch in building.taken(readings=TEN):
        for row in batch.rows["readings"]:
            for shape, (size, slide) in SHAPES.items():
                for start, end in windows(row["at"], size, slide):
                    late[shape] += end <= batch.late
                    if end > batch.late:
                        kept[shape, start, end, row["sensor"]].append(row)
    closed = {key: rows for key, rows in kept.items() if key[2] <= batch.closed}
    expected = sorted(((*key, *aggregates(rows)) for key, rows in closed.items()), key=repr)
    keys = ("shape", "window_start", "window_end", "sensor")
    assert building.published(*keys, *AGGREGATES) == expected
    assert all(late.values())
    assert 0 < len(closed) < len(kept)
    assert any(len(row[-1]) > 1 for row in expected)
    assert building.kind is PipelineClass.WINDOW


def test_sensor_baselines_are_of_all_readings_ever(tmp_path: Path, spark: object) -> None:
    building = Shipped("sensor_baselines", tmp_path)
    ever: dict[str, list[Row]] = defaultdict(list)
    columns = ("readings", "baseline", "lowest", "highest", "error_codes")
    for number in (1, 2):
        file = sensors.write_file(building.input / "sensors", number)
        for row in map(json.loads, file.read_text().splitlines()):
            ever[row["sensor"]].append(row)
        building.run()
        expected = sorted((sensor, *aggregates(rows)) for sensor, rows in ever.items())
        assert building.published("sensor", *columns) == expected
