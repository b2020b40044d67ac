"""The shipped pipelines after any history, each held against its model in plain Python."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings

from tests.oracle.cases import CASES, Case
from tests.oracle.history import Die, Kill, deaths, histories
from tests.oracle.play import Play
from tests.oracle.reading import LineModel
from tests.oracle.shipped import Shipped

if TYPE_CHECKING:
    from tests.servers.kafka import Broker

# A short set in `make test`, always the same; all of them in `make test-long`, and made small
# where one fails.
HISTORIES = int(os.environ.get("TIDEMILL_HISTORIES", "1"))
LONG = HISTORIES >= 20
# Histories that start processes, which takes ten times as long.
DEATHS = max(1, HISTORIES // 10)
KINDS = (
    *("killed", "held", "released", "rejected", "late", "duplicate", "changed", "flushed"),
    *("nothing in it", "empty run", "skipped", "again", "not retried", "waited"),
    *(f"killed before {point}" for point in Kill),
)
MANY = settings(
    max_examples=HISTORIES,
    deadline=None,
    database=None,
    phases=[Phase.generate, *([Phase.shrink] if LONG else [])],
    print_blob=LONG,
    suppress_health_check=[*HealthCheck],
)


@pytest.fixture(scope="module")
def met_by_all(spark: object) -> Counter[str]:
    """What happened in the histories of all pipelines."""
    return Counter()


def seeded(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """In the short set each pipeline has the same history every time, and none that of another."""
    return (lambda test: test) if LONG else seed(crc32(name.encode()))


def kill_of(name: str) -> Kill:
    """The point of a short history's last kill: each of them has its turn."""
    points = [*Kill]
    return points[[*CASES].index(name) % len(points)]


def played(case: Case, name: str, home: Path, events: Any, broker: Broker | None = None) -> Play:
    """A pipeline after a history."""
    flow = Shipped(home, shipped=case.pipeline or name, broker=broker)
    play = Play(flow, case.kind, case.model)
    play.play(events)
    return play


@pytest.mark.parametrize("name", CASES)
def test_what_is_published_is_what_the_model_says(
    name: str,
    tmp_path_factory: pytest.TempPathFactory,
    spark: object,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    met_by_all: Counter[str],
) -> None:
    case, met = CASES[name], Counter[str]()
    broker: Broker | None = request.getfixturevalue("broker") if case.kafka else None
    if broker is not None:
        kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker.bootstrap}}
        monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(kafka))

    @seeded(name)
    @MANY
    @given(
        histories(case.kind, rollovers=True)
        if LONG
        else histories(case.kind, more=0, kill=kill_of(name))
    )
    def holds(events: Any) -> None:
        # The first that Hypothesis tries is the smallest of all.
        assume(LONG or len({type(event) for event in events}) > 3)
        play = played(case, name, tmp_path_factory.mktemp(name), events, broker)
        assert play.met["run"] >= 5
        assert play.met["killed"]
        assert play.met["late"] or case.kind.late is None
        met.update(play.met)

    holds()
    met_by_all.update(met)
    assert not LONG or not never_met(case, met)


def never_met(case: Case, met: Counter[str]) -> list[str]:
    """The kinds of event that could have happened to a pipeline and did not."""
    of_time = set() if case.kind.late else {"late", "flushed"}
    of_statics = set() if case.kind.changes else {"changed"}
    # A text of lines has no bad ones.
    of_rows = {"rejected"} if isinstance(case.model, LineModel) else set()
    kinds = (*KINDS, "rolled over")
    return [kind for kind in kinds if not met[kind] and kind not in of_time | of_statics | of_rows]


@pytest.mark.skipif(LONG, reason="each pipeline meets all of them then")
def test_the_histories_had_every_kind_of_event(met_by_all: Counter[str]) -> None:
    assert not [kind for kind in KINDS if not met_by_all[kind]]


@pytest.mark.parametrize(
    "name", ["windowed_words", "device_totals"] if LONG else ["windowed_words"]
)
def test_processes_that_are_killed_anywhere_break_no_promise(
    name: str, tmp_path_factory: pytest.TempPathFactory, spark: object
) -> None:
    case, met = CASES[name], Counter[str]()

    @seeded(name)
    @settings(MANY, max_examples=DEATHS)
    @given(deaths(case.kind, often=2 if LONG else 1))
    def holds(events: Any) -> None:
        # Neither before the first batch nor after all is done.
        assume(LONG or all(3 < event.after < 10 for event in events if isinstance(event, Die)))
        met.update(played(case, name, tmp_path_factory.mktemp(name), events).met)

    holds()
    assert met["died"]
