"""Windowed counts after any history."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.e2e.flow import Flow
from tests.oracle.history import Kill, histories
from tests.oracle.play import Play
from tests.oracle.watermark import MINUTE
from tests.oracle.windowed import WindowedCounts, time_of_ms

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

TRANSFORM = """
from pyspark.sql import functions as F


def transform(events):
    return events.groupBy(F.window("at", "10 minutes", "5 minutes"), "word").count()
"""
SPEC: dict[str, Any] = {
    "event_time": {"column": "at", "watermark": "10 minutes"},
    "output": {"partition_by": {"day": "to_date(window.start)"}},
    "gate": {"rejected": {"hold_above": 1}},
}
NOON = 1_772_366_400_000


def rows(source: str) -> st.SearchStrategy[Any]:
    times = st.integers(0, 70).map(lambda minute: time_of_ms(NOON + minute * MINUTE).isoformat())
    words = st.sampled_from(["tide", "mill"])
    good = st.fixed_dictionaries({"at": times, "word": words})
    return st.one_of(good, good, good, good, st.just("{torn"), st.just({"at": None, "word": "x"}))


def test_it_equals_the_model(tmp_path_factory: pytest.TempPathFactory, spark: object) -> None:
    met = Counter[str]()

    @settings(
        max_examples=3,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(histories(rows, ["events"]))
    def holds(events: Any) -> None:
        home: Path = tmp_path_factory.mktemp("history")
        flow = Flow(home, {"events": "at timestamp, word string"}, SPEC, TRANSFORM)
        play = Play(flow, WindowedCounts())
        play.play(events)
        met.update(play.met)

    holds()
    assert met["late"]
    assert any(met[f"killed before {point}"] for point in Kill)
