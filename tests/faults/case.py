"""A step whose every system call is made to fail, and what its readers may see meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.support.histories.history_builder import History
from tests.support.histories.net_history_builder import NetHistory
from tidemill.contract.objects.object_path import arrow_source
from tidemill.contract.report import Report
from tidemill.journal.published_files import files_now

# The rows of the good table and those of the rejected one, as texts.
State = tuple[Sequence[str], Sequence[str]]


def publish(history: History) -> Report:
    return history.publish("again")


@dataclass(frozen=True)
class Case:
    """A step that is made to fail, is done again, and must come out as if nothing had been.

    Args:
        build: Writes what happened before the step.
        states: What consumers may see, in order: before the step, and after each journal event
            that the step publishes.
        step: The step and all that follows it until consumers see its result. It is done again
            after it was done, so it must bear that.
        mode: The output mode.
        source: As in `History`.
        more: As in `History`.
        rest: What must be as in an unharmed run besides, such as archived files.
    """

    build: Callable[[History], object]
    states: Sequence[State]
    step: Callable[[History], Report] = publish
    mode: str = "append"
    source: str = ""
    more: str = ""
    rest: Callable[[History], Any] = field(default=lambda history: None)

    def open(self, home: Path, bucket: str | None = None) -> History:
        """The pipeline below a folder, empty or as an earlier process left it.

        Args:
            bucket: The URL of its root, where that is in an object store.
        """
        home.mkdir(parents=True, exist_ok=True)
        if self.mode != "append":
            keys = ("action", "hour") if self.mode == "update" else ()
            return NetHistory(home, mode=self.mode, keys=keys, bucket=bucket)
        source = self.source.format(home=home)
        return History(home, source=source, more=self.more, bucket=bucket)


@dataclass(frozen=True)
class Seen:
    """What a reader saw.

    Args:
        good: Rows of the table.
        rejected: Rows of the rejected table.
        listed: In the files that the lists name; None without that target.
    """

    good: Sequence[str]
    rejected: Sequence[str]
    listed: Sequence[str] | None


def look(history: History) -> Seen:
    """Read as a consumer does."""
    if isinstance(history, NetHistory):
        return Seen([str(list(map(str, row))) for row in history.table()], history.records(), None)
    listed = _listed(history) if "files" in history.more else None
    return Seen(sorted(map(str, history.ids())), history.records(), listed)


def _listed(history: History) -> list[str]:
    files = [history.layout.home / file.path for file in files_now(history.layout)]
    read = [pq.ParquetFile(arrow_source(file)).read(columns=["id"]) for file in files]
    return sorted(str(number) for table in read for number in table.column("id").to_pylist())


def place_of(seen: Seen, states: Sequence[State]) -> int | None:
    """Which state a reader saw; None for none.

    The rejected table is one event ahead, at most: new rows come before the good table's commit,
    and replaced ones go after it, so that a row is never in neither. The lists follow the table.
    """
    for place, (good, rejected) in reversed([*enumerate(states)]):
        between = [rejected]
        if place + 1 < len(states):
            between.append(_both(rejected, states[place + 1][1]))
        if place > 0:
            between.append(_both(rejected, states[place - 1][1]))
        earlier = [sorted(state[0]) for state in states[: place + 1]]
        if (
            sorted(seen.good) == sorted(good)
            and sorted(seen.rejected) in [sorted(one) for one in between]
            and (seen.listed is None or sorted(seen.listed) in earlier)
        ):
            return place
    return None


def _both(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """What is in either, as often as in that which has it more often."""
    return [*one, *(record for record in other if record not in one)]
