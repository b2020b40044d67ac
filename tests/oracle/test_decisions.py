"""The promise holds after whatever people ask for: backfill, redo, rebuild, reject, reinstate."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given

from tests.oracle.changed_versions import OTHERS, kind_of
from tests.oracle.decision_histories import HISTORIES, lines
from tests.oracle.decisions import OF_ALL, OF_PARTS, Ask, wishful
from tests.oracle.history import Go
from tests.oracle.play_decisions import asking
from tests.oracle.test_shipped import LONG, MANY, seeded

# What the fixed histories are there for.
MEET = {
    "device_signals": {
        *("backfill", "redo", "rebuild", "reinstate", "rejection", "lost a race", "coalesced"),
        *("resumed", "crashed", "cleared", "held again", "dropped", "released", "rolled over"),
    },
    "windowed_words": {
        *("backfill", "forked", "rebuild", "late", "resumed", "crashed", "held again", "cleared"),
        *("refused backfill", "refused reject", "rolled over"),
    },
    "unique_events": {
        *("backfill", "forked", "late", "lost a race", "held again", "cleared", "rolled over"),
    },
    "word_count": {
        *("refused backfill", "rebuild", "forked", "crashed", "held again", "cleared"),
        "rolled over",
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


@pytest.mark.parametrize("name", OTHERS if LONG else ["device_signals"])
def test_and_after_any_history(
    name: str, tmp_path_factory: pytest.TempPathFactory, spark: object
) -> None:
    met = Counter[str]()
    asked = OF_ALL if OTHERS[name].slots is None else OF_PARTS

    @seeded(name)
    @MANY
    @given(wishful(kind_of(name), asked))
    def holds(events: Any) -> None:
        # The first that Hypothesis tries is the smallest of all.
        assume(LONG or len({one.role for one in events if isinstance(one, Ask)}) > 2)
        met.update(asking(name, tmp_path_factory.mktemp(name), events).met)

    holds()
    assert met["rebuild"] or met["backfill"] or met["forked"]
