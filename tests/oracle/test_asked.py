"""The promise holds after whatever people ask for: backfill, redo, rebuild, reject, reinstate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.oracle.asking import Asking
from tests.oracle.cases import CASES
from tests.oracle.history import Arrive, Go, LetOut
from tests.oracle.kind import said
from tests.oracle.others import OTHERS, Versions, kind_of
from tests.oracle.shipped import Shipped
from tests.oracle.wishes import Ask, Clear, Edit, Resume

pytestmark = [pytest.mark.jvm, pytest.mark.slow]


def asking(name: str, home: Path, events: Any) -> Asking:
    """A pipeline after a history of wishes."""
    flow, versions = Shipped(home, shipped=CASES[name].pipeline or name), Versions.of(name)
    play = Asking(
        flow, kind_of(name), versions.models[False, False], other=OTHERS[name], versions=versions
    )
    play.play(events)
    return play


def reports(*rows: tuple[int, str, str]) -> Arrive:
    return Arrive(
        "reports",
        (
            *({"at": said(at), "device": d, "type": "t", "signal": s} for at, d, s in rows),
            "{torn",
        ),
    )


def lines(*rows: tuple[int, str]) -> Arrive:
    said_then = ({"at": said(at), "text": text} for at, text in rows)
    return Arrive("lines", (*said_then, {"at": said(0)}))


def events(*rows: tuple[int, str]) -> Arrive:
    found = ({"at": said(at), "id": i, "kind": "k"} for at, i in rows)
    return Arrive("events", (*found, {"at": said(0)}))


def actions(*rows: tuple[int, str, str]) -> Arrive:
    found = ({"at": said(at), "user": user, "action": action} for at, user, action in rows)
    return Arrive("actions", (*found, {"at": said(0)}))


FIRST, SECOND = (0, 60), (60, 120)
HISTORIES: dict[str, tuple[Any, ...]] = {
    "device_signals": (
        reports((0, "a", "11"), (70, "b", "12")),
        reports((10, "b", "25"), (65, "a", "5")),
        reports((20, "a", "15"), (75, "a", "15")),
        Go(),
        Edit(code=True),
        Ask("backfill", *FIRST),
        # Overtaken by a run that publishes into the same hour.
        Edit(code=True, rule=True),
        Ask("backfill", *SECOND, steps=3),
        reports((80, "a", "15"), (90, "b", "25")),
        Go(),
        Resume(),
        Ask("backfill", *SECOND),
        reports((30, "a", "30")),
        Go(strict=True),
        reports((40, "b", "31"), (100, "a", "31")),
        Go(strict=True),
        Ask("reject"),
        Edit(rule=True),
        Ask("redo"),
        Ask("backfill", 0, 120, crash=True),
        Ask("reinstate"),
        Clear(3),
        Clear(7),
        Clear(20),
        LetOut(everything=True),
    ),
    "windowed_words": (
        lines((0, "tide"), (30, "mill"), (55, "Tide  mill"), (59, "tide")),
        lines((40, "tide"), (57, "mill"), (62, "tide")),
        lines((100, "tide"), (3, "tide")),
        Go(),
        Ask("backfill", *SECOND),
        # Late for their windows.
        lines((5, "tide"), (30, "mill"), (95, "tide")),
        Go(),
        Ask("reject"),
        Ask("backfill", *FIRST),
        Edit(code=True),
        lines((99, "mill"), (98, "tide")),
        Go(),
        Ask("backfill", *FIRST, steps=3),
        lines((6, "tide"), (130, "mill"), (135, "tide")),
        Go(strict=True),
        Edit(rule=True),
        Ask("reject"),
        Ask("redo"),
        Resume(),
        lines((7, "tide"), (200, "Tide  mill"), (205, "tide")),
        Go(),
        Ask("backfill", 60, 61, crash=True),
        Ask("backfill", -60, 120, strict=True),
        Edit(code=True, rule=True),
        Clear(4),
        Clear(11),
        Clear(14),
        LetOut(everything=True),
    ),
    "unique_events": (
        events((0, "a"), (30, "b"), (55, "a")),
        events((1, "a"), (57, "b"), (62, "a")),
        events((130, "a"), (3, "b")),
        Go(),
        Ask("backfill", *SECOND),
        # One of them late.
        events((5, "b"), (80, "a"), (145, "b")),
        Go(),
        Ask("backfill", *FIRST),
        Edit(code=True),
        events((146, "a"), (150, "b")),
        Go(),
        Ask("backfill", *SECOND, steps=3),
        events((6, "a"), (160, "b"), (190, "a")),
        Go(strict=True),
        Edit(rule=True),
        Ask("redo"),
        Resume(),
        events((199, "a"), (200, "a"), (205, "b")),
        Go(),
        Ask("backfill", 60, 61, crash=True),
        Ask("backfill", 0, 180, strict=True),
        Edit(code=True, rule=True),
        Clear(4),
        Clear(11),
        Clear(14),
        LetOut(everything=True),
    ),
    "user_sessions": (
        actions((0, "ada", "login"), (5, "bo", "view"), (55, "ada", "login_failed")),
        actions((57, "bo", "view"), (62, "ada", "login")),
        Go(),
        actions((100, "bo", "view"), (3, "ada", "view"), (105, "ada", "view")),
        Go(),
        Ask("backfill", *FIRST),
        Edit(code=True),
        actions((146, "ada", "view"), (150, "bo", "login"), (106, "ada", "login")),
        Go(),
        Ask("backfill", *FIRST),
        Go(strict=True),
        Edit(rule=True),
        Ask("redo"),
        actions((199, "ada", "view"), (240, "bo", "login"), (245, "bo", "view")),
        Go(strict=True),
        Ask("redo"),
        Ask("backfill", 0, 180),
        LetOut(everything=True),
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_fixed(name: str, tmp_path: Path, spark: object) -> None:
    play = asking(name, tmp_path, HISTORIES[name])
    print(dict(play.met))
