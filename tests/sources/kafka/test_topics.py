"""Topics by their ids, without a broker: which of them are protected against being made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.sources.kafka.broker import Topic
from tidemill.sources.kafka.topics import record_topics, unprotected, verify_topics

KNOWN = Topic("orders", "the-id", (0,), ("delete",), None)
UNKNOWN = replace(KNOWN, id=None)
READ = {"orders": {0: 5}}


@pytest.mark.parametrize(
    ("first", "today", "protected"),
    [
        (KNOWN, KNOWN, True),
        (UNKNOWN, UNKNOWN, False),
        (UNKNOWN, KNOWN, False),
        (KNOWN, UNKNOWN, False),
    ],
)
def test_a_topic_without_an_id_then_or_now_is_said_to_be_unprotected(
    tmp_path: Path, first: Topic, today: Topic, protected: bool
) -> None:
    layout = Layout(tmp_path, "orders")
    record_topics(layout, FIRST_GENERATION, "orders", {"orders": first})
    # Nothing can be proved of it, and so nothing is refused.
    verify_topics(layout, FIRST_GENERATION, "orders", {"orders": today}, READ)
    found = unprotected(layout, FIRST_GENERATION, "orders", {"orders": today})
    assert (found.topics if found else []) == ([] if protected else ["orders"])


def test_it_is_said_before_the_first_query_too(tmp_path: Path) -> None:
    layout = Layout(tmp_path, "orders")
    found = unprotected(layout, FIRST_GENERATION, "orders", {"orders": UNKNOWN})
    assert found is not None
    assert found.source == "orders"
