"""The shipped pipeline `unique_events`, against plain Python."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.support.pipelines.shipped_pipeline import Row, Shipped
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.samples import unique_events


def test_each_event_that_comes_in_time_is_published_once(tmp_path: Path, spark: object) -> None:
    building = Shipped("unique_events", tmp_path)
    for files in ((1,), (2, 3)):
        for number in files:
            unique_events.write_file(building.input / "unique_events", number)
        building.run()

    first: dict[str, Row] = {}
    copies = late = 0
    for batch in building.taken(events=timedelta(hours=1)):
        late += len(batch.rows["events"]) - len(batch.in_time("events"))
        for row in batch.in_time("events"):
            copies += row["id"] in first
            first.setdefault(row["id"], row)
    expected = [(row["id"], row["kind"], row["at"], row["at"].date()) for row in first.values()]
    assert building.published("id", "kind", "at", "day") == sorted(expected, key=repr)
    assert copies > 0
    assert late > 0
    assert building.kind is PipelineClass.ORDERED
