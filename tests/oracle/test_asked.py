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
}


@pytest.mark.parametrize("name", HISTORIES)
def test_fixed(name: str, tmp_path: Path, spark: object) -> None:
    play = asking(name, tmp_path, HISTORIES[name])
    print(dict(play.met))
