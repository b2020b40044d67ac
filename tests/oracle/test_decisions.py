"""The promise holds after whatever people ask for: backfill, redo, rebuild, reject, reinstate."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.changed_versions import OTHERS, kind_of
from tests.oracle.decision_histories import HISTORIES, lines
from tests.oracle.decisions import OF_ALL, OF_PARTS, Ask, wishful
from tests.oracle.history import Go
from tests.oracle.numbered import LONG, new_folder, numbered, play_one
from tests.oracle.play_decisions import asking

# What the fixed histories are there for.
MEET = {
    "device_signals": {
        *("backfill", "redo", "rebuild", "reinstate", "rejection", "lost a race", "coalesced"),
        *("resumed", "crashed", "cleared", "held again", "dropped", "released", "rolled over"),
        *("rewind", "refused rewind"),
    },
    "windowed_words": {
        *("backfill", "forked", "rebuild", "late", "resumed", "crashed", "held again", "cleared"),
        *("refused backfill", "refused reject", "rolled over", "rewind"),
    },
    "unique_events": {
        *("backfill", "forked", "late", "lost a race", "held again", "cleared", "rolled over"),
        "rewind",
    },
    "word_count": {
        *("refused backfill", "rebuild", "forked", "crashed", "held again", "cleared"),
        *("rolled over", "rewind"),
    },
}


@pytest.mark.parametrize("name", HISTORIES)
def test_whatever_is_asked_for_the_promise_holds(name: str, tmp_path: Path, spark: object) -> None:
    play = asking(name, tmp_path, HISTORIES[name])
    assert not {what for what in MEET[name] if not play.met[what]}


def test_what_only_the_next_batch_gives_out_is_not_final(tmp_path: Path, spark: object) -> None:
    """A run of trigger `once` ends before the batch that closes its windows."""
    after = (Ask("backfill"), lines((101, "tide")), Go(), Ask("backfill"), Go())
    history = (lines((0, "tide"), (30, "mill")), Go(), lines((100, "tide")), Go(), *after)
    play = asking("windowed_words", tmp_path, history, once=True)
    assert (play.met["refused backfill"], play.met["backfill"]) == (1, 1)


@pytest.mark.parametrize(
    ("name", "number"),
    numbered(OTHERS if LONG else ["device_signals"], "test_and_after_any_history"),
)
def test_and_after_any_history(
    name: str,
    number: int,
    tmp_path: Path,
    spark: object,
    request: pytest.FixtureRequest,
) -> None:
    met = Counter[str]()
    asked = OF_ALL if OTHERS[name].slots is None else OF_PARTS
    play_one(
        wishful(kind_of(name), asked),
        f"decisions/{name}/{number}" if LONG else name,
        lambda events: met.update(asking(name, new_folder(tmp_path), events).met),
        telling=lambda events: len({one.role for one in events if isinstance(one, Ask)}) > 2,
    )
    request.node.user_properties.append(("met", dict(met)))
    assert met["rebuild"] or met["backfill"] or met["forked"] or LONG
