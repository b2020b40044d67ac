"""The shipped pipelines after any history, each held against its model in plain Python."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.oracle.cases import CASES, Case
from tests.oracle.event_kinds import KINDS
from tests.oracle.history import Die, Kill, deaths, histories
from tests.oracle.numbered import LONG, new_folder, numbered, play_one
from tests.oracle.play import Play
from tests.oracle.shipped import Shipped

if TYPE_CHECKING:
    from tests.servers.kafka import Broker


@pytest.fixture(scope="module")
def met_by_all(spark: object) -> Counter[str]:
    """What happened in the histories of all pipelines."""
    return Counter()


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


@pytest.mark.parametrize(("name", "number"), numbered(CASES))
def test_what_is_published_is_what_the_model_says(
    name: str,
    number: int,
    tmp_path: Path,
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

    def holds(events: Any) -> None:
        play = played(case, name, new_folder(tmp_path), events, broker)
        assert play.met["run"] >= 5
        assert play.met["killed"]
        assert play.met["late"] or case.kind.late is None
        met.update(play.met)

    play_one(
        histories(case.kind, rollovers=True)
        if LONG
        else histories(case.kind, more=0, kill=kill_of(name)),
        f"{name}/{number}" if LONG else name,
        holds,
        telling=lambda events: len({type(event) for event in events}) > 3,
    )
    met_by_all.update(met)
    request.node.user_properties.append(("met", dict(met)))


@pytest.mark.skipif(LONG, reason="each pipeline meets all of them then")
def test_the_histories_had_every_kind_of_event(met_by_all: Counter[str]) -> None:
    assert not [kind for kind in KINDS if not met_by_all[kind]]


@pytest.mark.parametrize(
    ("name", "number"),
    numbered(
        ["windowed_words", "device_totals"] if LONG else ["windowed_words"],
        "test_processes_that_are_killed_anywhere_break_no_promise",
    ),
)
def test_processes_that_are_killed_anywhere_break_no_promise(
    name: str,
    number: int,
    tmp_path: Path,
    spark: object,
    request: pytest.FixtureRequest,
) -> None:
    case, met = CASES[name], Counter[str]()
    play_one(
        deaths(case.kind, often=2 if LONG else 1),
        f"deaths/{name}/{number}" if LONG else name,
        lambda events: met.update(played(case, name, new_folder(tmp_path), events).met),
        # Neither before the first batch nor after all is done.
        telling=lambda events: all(3 < one.after < 10 for one in events if isinstance(one, Die)),
    )
    request.node.user_properties.append(("met", dict(met)))
    assert met["died"] or LONG
