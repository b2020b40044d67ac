"""A watcher takes no more memory after a long past, and none more with each look."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path

from tests.airflow.dags.test_arrivals import commit, deliver, feed, look, trigger
from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.ledger.ledger import Ledger

__all__ = ["feed"]
# Both have records of settled batches, and an index of the files that these have read.
SHORT, LONG = 150, 3_000
LOOKS = 20


def past(layout: Layout, feed: Path, batches: int) -> None:
    """Batches that have read a file each, of which the last alone is still there."""
    deliver(feed, "last.csv")
    commit(layout, feed, batches - 1, "last.csv")
    folder = layout.ledger(FIRST_GENERATION)
    last = json.loads((folder / f"{batches - 1:06d}.json").read_text())
    for number in range(batches - 1):
        file = {**last["inputs"][0], "path": str(feed / f"{number}.csv")}
        document = {**last, "batch": number, "inputs": [file]}
        (folder / f"{number:06d}.json").write_text(json.dumps(document))
    Ledger(layout, FIRST_GENERATION).settle()


def memory_of_looks(looks: int) -> tuple[int, int]:
    """The bytes that stay after some looks, and the most that one of them took."""
    watcher = trigger()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(looks):
            assert not look(watcher).wakes
        gc.collect()
        return tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def test_its_memory_is_the_same_after_a_long_past(feed: Path, layout: Layout) -> None:
    past(layout, feed, SHORT)
    # Imports.
    memory_of_looks(1)
    _, short = memory_of_looks(1)
    past(layout, feed, LONG)
    _, long = memory_of_looks(1)
    assert long < 1.2 * short


def test_no_look_leaves_anything(feed: Path, layout: Layout) -> None:
    past(layout, feed, SHORT)
    memory_of_looks(LOOKS)
    few, _ = memory_of_looks(LOOKS)
    many, _ = memory_of_looks(3 * LOOKS)
    # A look that left a batch of the ledger would leave some thousand bytes each time.
    assert many - few < 10_000
