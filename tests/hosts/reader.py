"""A reader in a process of its own: what consumers see of both tables, at every moment.

    python -m tests.hosts.reader ROOT PIPELINE

It looks again and again; a look counts if neither table has moved on meanwhile. Each line on its
standard input is answered when it has looked once more; at the end of the input it says every
state that it saw, without repetitions that follow each other.
"""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.processes import kill_group
from tests.support.table_reader import Seen
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import path_of
from tidemill.contract.project import REPOSITORY
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table

# The ids of the published rows, and the records of the rejected ones.
State = tuple[tuple[int, ...], tuple[str, ...]]
PAUSE = 0.03


@dataclass(frozen=True)
class Tables(Seen):
    """The tables of a pipeline."""

    place: Layout

    @property
    def layout(self) -> Layout:
        return self.place


@dataclass
class Reader:
    """The reader, seen from the test.

    Attributes:
        states: What it saw, once its `with` block has ended.
    """

    process: subprocess.Popen[str]
    states: list[State] = field(default_factory=list)

    def look(self) -> None:
        """Wait until it has seen the state that there is now."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("look\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "seen\n"

    def strays(self, expected: Sequence[State]) -> list[State]:
        """The states that were never to be seen, or not any more after another one was."""
        left, strays = list(expected), []
        for state in self.states:
            if state in left:
                del left[: left.index(state)]
            else:
                strays.append(state)
        return strays


@contextmanager
def reading(layout: Layout) -> Iterator[Reader]:
    """Somebody who reads the tables of a pipeline while the `with` block runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.hosts.reader", str(layout.root), layout.name],
        cwd=REPOSITORY,
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    reader = Reader(process)
    try:
        yield reader
        reader.look()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        found = json.loads(process.stdout.readline())
        reader.states = [(tuple(ids), tuple(records)) for ids, records in found]
    finally:
        kill_group(process)


def main(root: str, name: str) -> None:
    tables, states = Tables(Layout(path_of(root), name)), list[State]()
    asked = selectors.DefaultSelector()
    asked.register(sys.stdin, selectors.EVENT_READ)
    while True:
        # What is asked for now is to be answered by a look that begins now.
        answer = asked.select(PAUSE) and sys.stdin.readline()
        state = snapshot(tables)
        if not states or states[-1] != state:
            states.append(state)
        if answer:
            print("seen", flush=True)
        elif answer == "":
            print(json.dumps(states), flush=True)
            return


def snapshot(seen: Seen) -> State:
    """Both tables at one moment."""
    while True:
        before = _versions(seen)
        state = tuple(seen.ids()), tuple(seen.records())
        if _versions(seen) == before:
            return state


def _versions(seen: Seen) -> list[int | None]:
    tables = (seen.layout.table, seen.layout.rejected)
    return [open_table(path).version() if has_table(path) else None for path in tables]


if __name__ == "__main__":
    main(*sys.argv[1:])
