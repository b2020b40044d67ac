"""Histories in which people fix, decide and ask, one for each class of pipelines."""

from __future__ import annotations

from typing import Any

from tests.oracle.decisions import Ask, Clear, Edit, Resume
from tests.oracle.history import Arrive, Go, LetOut, Limit
from tests.oracle.pipeline_inputs import said


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


def texts(*rows: str) -> Arrive:
    return Arrive("lines", rows)


FIRST, SECOND = (0, 60), (60, 120)
# A rollover with each publish that leaves nothing waiting.
EACH = Limit(1)
HISTORIES: dict[str, tuple[Any, ...]] = {
    # Row by row.
    "device_signals": (
        EACH,
        reports((0, "a", "11"), (70, "b", "12")),
        reports((10, "b", "25"), (65, "a", "5")),
        reports((20, "a", "15"), (75, "a", "15")),
        Go(),
        Edit(code=True),
        Ask("backfill", *FIRST),
        # Overtaken by a run that publishes into the same hour.
        Edit(code=True, rule=True),
        Ask("backfill", *SECOND, steps=3),
        reports((30, "a", "30")),
        reports((80, "a", "15"), (90, "b", "25")),
        Go(),
        Resume(),
        Ask("backfill", *SECOND),
        reports((35, "a", "30")),
        Go(strict=True),
        # Two batches, of which the second is all that a redo may forget.
        reports((40, "b", "31"), (100, "a", "31")),
        reports((41, "b", "32")),
        reports((42, "a", "33")),
        Go(strict=True),
        Ask("reject"),
        Edit(rule=True),
        Ask("redo"),
        Ask("backfill", 0, 120, crash=True),
        Ask("reinstate"),
        Ask("rebuild"),
        reports((43, "a", "34")),
        Go(),
        reports((44, "a", "35"), (104, "b", "36")),
        Go(),
        Ask("rewind", back=2, crash=True),
        # The rows come again, and the rebuild cannot be undone.
        Go(),
        Ask("rewind", back=3),
        Ask("backfill", *FIRST, strict=True),
        Ask("reject"),
        Ask("backfill", *FIRST, strict=True),
        Clear(3),
        Clear(7),
        Clear(20),
        LetOut(everything=True),
    ),
    # Windows.
    "windowed_words": (
        EACH,
        lines((0, "tide"), (30, "mill"), (55, "Tide  mill"), (59, "tide")),
        lines((40, "tide"), (57, "mill"), (62, "tide")),
        Go(),
        # Not final yet.
        Ask("backfill", *FIRST),
        # Late for their windows.
        lines((100, "tide"), (95, "tide")),
        lines((5, "tide"), (30, "mill")),
        Go(),
        # They are late once more.
        Ask("rewind"),
        Go(),
        Ask("reject"),
        Ask("backfill", *FIRST),
        Edit(code=True),
        lines((99, "mill"), (98, "tide")),
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
        LetOut(everything=True),
        Ask("rebuild"),
        Ask("backfill", *SECOND),
    ),
    # In the order in which they come.
    "unique_events": (
        EACH,
        events((0, "a"), (30, "b"), (55, "a")),
        events((1, "a"), (57, "b"), (62, "a")),
        Go(),
        events((130, "a"), (3, "b")),
        Go(),
        # Overtaken by a run, which it takes back too.
        Ask("rewind", steps=2),
        events((131, "a"), (4, "b")),
        Go(),
        Resume(),
        Go(),
        Edit(code=True),
        Ask("backfill", *SECOND, steps=3),
        # One of them late.
        events((5, "b"), (95, "a"), (145, "b")),
        Go(),
        Resume(),
        events((6, "a"), (160, "b"), (190, "a")),
        Go(strict=True),
        Edit(rule=True),
        Ask("redo"),
        events((199, "a"), (200, "a"), (205, "b")),
        Go(),
        Ask("backfill", 0, 180, strict=True),
        Edit(code=True, rule=True),
        Clear(4),
        Clear(14),
        LetOut(everything=True),
    ),
    # Running totals: of no part of them is anything computed again.
    "word_count": (
        EACH,
        texts("tide", "mill"),
        Go(),
        Ask("backfill", *FIRST),
        Edit(code=True),
        texts("tide", "mill"),
        Go(),
        Ask("rewind", crash=True),
        Go(),
        Ask("rebuild"),
        texts("tide", "mill"),
        Go(strict=True),
        Edit(code=True),
        Ask("redo"),
        Clear(3),
        Clear(8),
        Ask("rebuild", strict=True, crash=True),
        LetOut(everything=True),
    ),
}
