"""The shipped pipelines after any history, each held against its model in plain Python."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.oracle import models
from tests.oracle.history import Arrive, Kill, histories
from tests.oracle.models import HOUR, JsonModel, Lines, time_of_ms
from tests.oracle.play import Play
from tests.oracle.promise import Model
from tests.oracle.shipped import Shipped
from tests.oracle.watermark import MINUTE, Watermarks

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

# A short set in `make test`, all of them in `make test-long`.
HISTORIES = int(os.environ.get("TIDEMILL_HISTORIES", "2"))
NOON = 1_772_366_400_000
Rows = Callable[[str], st.SearchStrategy[Any]]


def said(minute: int) -> str:
    return time_of_ms(NOON + minute * MINUTE).isoformat()


TIMES = st.integers(0, 90).map(said)
WORDS = st.sampled_from(["tide", "mill", "tide mill"])
NUMBERS = st.integers(0, 3000).map(lambda number: f"{number / 100:.2f}")


def json_rows(**columns: st.SearchStrategy[Any]) -> Rows:
    """Rows of some columns beside `at`; one in five is torn or lacks its time."""
    good = st.fixed_dictionaries({"at": TIMES, **columns})
    bad = st.sampled_from(["{torn", {"at": None}])
    return lambda _: st.one_of(good, good, good, good, bad)


@dataclass(frozen=True)
class Case:
    """A shipped pipeline.

    Args:
        model: In plain Python.
        rows: Of a source.
        sources: Their names.
        late: A row as late as can be, without its time; None where nothing is ever late.
        statics: Files under the input, with their lines.
    """

    model: Model
    rows: Rows
    sources: list[str]
    late: dict[str, Any] | None = None
    statics: dict[str, list[str]] = field(default_factory=dict)

    @property
    def ending(self) -> tuple[Arrive, ...]:
        """What makes sure that a row is late: one of long after, then one of the beginning."""
        if self.late is None:
            return ()
        after = [Arrive(name, ({**self.late, "at": said(24 * 60)},)) for name in self.sources]
        return (*after, Arrive(self.sources[0], ({**self.late, "at": said(1)},)))


def ids(*names: str) -> st.SearchStrategy[str]:
    return st.sampled_from(names)


REPORTS = json_rows(device=ids("a", "b"), type=ids("pump", "gate"), signal=NUMBERS)
OF_REPORTS = {"type_known": "type", "signal_present": "signal"}
CASES = {
    "word_count": Case(Lines(), lambda _: WORDS, ["lines"]),
    "windowed_words": Case(
        JsonModel(
            ("window_start", "window_end", "word", "count"),
            {"a_line": "text"},
            models.windowed_words,
            Watermarks({"lines": 10 * MINUTE}),
        ),
        json_rows(text=WORDS),
        ["lines"],
        late={"text": "late"},
    ),
    "device_signals": Case(
        JsonModel(("device", "signal"), OF_REPORTS, models.device_signals), REPORTS, ["reports"]
    ),
    "device_totals": Case(
        JsonModel(("type", "reports", "mean_signal"), OF_REPORTS, models.device_totals),
        REPORTS,
        ["reports"],
    ),
    "sensor_windows": Case(
        JsonModel(
            (
                *("shape", "window_start", "sensor", "readings"),
                *("mean", "lowest", "highest", "error_codes"),
            ),
            {"sensor_known": "sensor", "value_present": "value"},
            models.sensor_windows,
            Watermarks({"readings": 10 * MINUTE}),
        ),
        json_rows(sensor=ids("s", "t"), value=NUMBERS, error_code=st.none() | ids("E1", "E2")),
        ["readings"],
        late={"sensor": "s", "value": "1.00", "error_code": None},
    ),
    "ad_clicks": Case(
        JsonModel(
            ("ad", "shown_at", "clicked_at"),
            {"ad_known": "ad"},
            models.ad_clicks,
            Watermarks({"impressions": 2 * HOUR, "clicks": 3 * HOUR}),
        ),
        json_rows(ad=ids("a", "b", "c"), campaign=ids("spring")),
        ["impressions", "clicks"],
        late={"ad": "z", "campaign": "spring"},
    ),
    "unique_events": Case(
        JsonModel(
            ("id",),
            {"id_present": "id"},
            models.unique_events,
            Watermarks({"events": HOUR}),
        ),
        json_rows(id=ids("a", "b", "c", "d", "e"), kind=ids("k")),
        ["events"],
        late={"id": "z", "kind": "k"},
    ),
    "customer_hours": Case(
        JsonModel(
            ("hour", "customer_id", "name", "actions"),
            {"customer_given": "customer_id"},
            models.customer_hours({"1": "Ada", "2": "Bo"}),
            Watermarks({"actions": HOUR}),
        ),
        json_rows(customer_id=ids("1", "2", "3"), action=ids("buy")),
        ["actions"],
        late={"customer_id": "1", "action": "buy"},
        statics={"customer_hours/customers/c.csv": ["customer_id,name", "1,Ada", "2,Bo"]},
    ),
    "click_revenue": Case(
        JsonModel(
            ("click", "price"),
            {"ad_known": "ad"},
            models.click_revenue({"a": "1.50", "b": "2.00"}),
        ),
        json_rows(click=ids("1", "2", "3"), ad=ids("a", "b", "c")),
        ["clicks"],
        statics={"click_revenue/impressions/i.csv": ["ad,campaign,price", "a,s,1.50", "b,s,2.00"]},
    ),
    "user_sessions": Case(
        JsonModel(
            ("user", "since", "status"),
            {"user_known": "user", "action_known": "action"},
            models.user_sessions,
            Watermarks({"actions": 10 * MINUTE}),
        ),
        json_rows(user=ids("ada", "bo"), action=ids("login", "login_failed", "view")),
        ["actions"],
        late={"user": "ada", "action": "view"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_published_is_what_the_model_says(
    name: str, tmp_path_factory: pytest.TempPathFactory, spark: object
) -> None:
    case, met = CASES[name], Counter[str]()

    @settings(
        max_examples=HISTORIES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(histories(case.rows, case.sources, case.ending))
    def holds(events: Any) -> None:
        flow = Shipped(tmp_path_factory.mktemp(name), name=name)
        for path, lines in case.statics.items():
            flow.put(path, lines)
        play = Play(flow, case.model)
        play.play(events)
        met.update(play.met)

    holds()
    assert met["run"] >= 5
    assert any(met[f"killed before {point}"] for point in Kill)
    assert met["late"] or case.late is None
