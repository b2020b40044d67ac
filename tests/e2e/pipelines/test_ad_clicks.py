"""The shipped pipelines `ad_clicks` (left outer) and `ad_clicks_inner`, against plain Python."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.shipped_pipeline import Shipped
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.samples import ad_clicks

HOUR = timedelta(hours=1)
COLUMNS = ("ad", "campaign", "shown_at", "clicked_at")


@pytest.mark.parametrize("name", ["ad_clicks", "ad_clicks_inner"])
def test_impressions_meet_the_clicks_of_the_hour_that_follows(
    tmp_path: Path, spark: object, name: str
) -> None:
    agency = Shipped(name, tmp_path)
    for files in ((1, 2), (3, 4, 5)):
        for number in files:
            ad_clicks.write_file(agency.input / "ad_clicks", number)
        agency.run()

    shown: list[dict[str, Any]] = []
    clicks: list[dict[str, Any]] = []
    late = {"impressions": 0, "clicks": 0}
    for batch in agency.taken(impressions=2 * HOUR, clicks=3 * HOUR):
        shown += batch.in_time("impressions")
        clicks += batch.in_time("clicks")
        for source in late:
            late[source] += len(batch.rows[source]) - len(batch.in_time(source))
    pairs = [
        (one["ad"], one["campaign"], one["at"], click["at"])
        for one in shown
        for click in clicks
        if one["ad"] == click["ad"] and one["at"] <= click["at"] <= one["at"] + HOUR
    ]
    met = {pair[0] for pair in pairs}
    alone = [one for one in shown if one["ad"] not in met]
    given_up = [one for one in alone if one["at"] + HOUR < batch.closed]
    without = [(one["ad"], one["campaign"], one["at"], None) for one in given_up]
    is_inner = name == "ad_clicks_inner"
    expected = pairs if is_inner else [*pairs, *without]
    assert agency.published(*COLUMNS) == sorted(expected, key=repr)
    # There are some of each kind: late on both sides, clicked twice, waiting, too late a click.
    assert all(late.values())
    assert len(met) < len(pairs)
    assert 0 < len(given_up) < len(alone)
    assert {click["ad"] for click in clicks} - met
    assert agency.kind is (PipelineClass.WINDOW if is_inner else PipelineClass.ORDERED)
