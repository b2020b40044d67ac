"""Play a history on a chain, and hold each table against the transforms over the first input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.oracle.chain_cases import Chain, ReaderPipeline, Rows
from tests.oracle.chain_histories import Down, Settle
from tests.oracle.changed_versions import OTHERS, Versions, kind_of
from tests.oracle.expected import Parts, expected
from tests.oracle.history import Go, LetOut
from tests.oracle.history_facts import Given
from tests.oracle.pipeline_inputs import Kind
from tests.oracle.play import Play
from tests.oracle.play_decisions import Asking
from tests.oracle.promise import Broken
from tests.oracle.recorded import batches, flushed, last_published
from tests.oracle.shipped import Shipped
from tests.support.pipelines.json_pipeline import SUITE
from tidemill.contract.report import Outcome
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import current
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.sources.due import Due
from tidemill.sources.probe import due_of

# More runs than any history leaves work for.
MANY = 40


@dataclass
class Link(Play):
    """A pipeline further down, whose rows are held against the first one's input."""

    flow: ReaderPipeline

    def check(self) -> None:
        self.roll_over()

    def due(self) -> Sequence[Due]:
        return due_of(self.flow.pipeline, Snapshot(self.flow.layout))

    def turn(self, event: Go) -> bool:
        """A run; whether it had anything to do."""
        before, due = self.met["skipped"], self.due()
        if any(one.refusal for one in due):
            self._rebuild()
            return True
        self.met["due"] += bool(due)
        self.happen(event)
        return self.met["skipped"] == before

    def _rebuild(self) -> None:
        """What no backfill can follow, a person has computed again, also if nothing is left."""
        self._runs += 1
        run_id = f"run-{self._runs}"
        self.flow.suite = SUITE
        self.flow.write()
        request = RunRequest(role="rebuild", by="ada", reason="oracle")
        fix_request(self.flow.layout.run(run_id), request)
        last = [*self.flow.run(run_id).values()][-1]
        assert last.outcome in (Outcome.DONE, Outcome.WAITING, Outcome.HELD), last.error
        self.happen(LetOut(everything=True))
        self.given = Given(generation=current(self.flow.layout))
        self.end()
        self.met["rebuilt"] += 1


@dataclass
class ShippedChain:
    """Three pipelines under a history.

    Args:
        chain: The chain.
        home: An empty folder.

    Attributes:
        met: Which kinds of event truly happened, and how often.
    """

    chain: Chain
    home: Path
    ever: set[tuple[str, str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        case, (second, third) = self.chain.first, self.chain.readers
        versions = Versions.of(case)
        self.first = Asking(
            Shipped(self.home, shipped=case, name="first"),
            kind_of(case),
            versions.models[False, False],
            other=OTHERS[case],
            versions=versions,
        )
        second_flow = ReaderPipeline(
            self.home,
            name="second",
            upstream="first",
            reader=second,
            columns=self.chain.columns,
            named=self.chain.named,
        )
        third_flow = ReaderPipeline(
            self.home,
            name="third",
            upstream="second",
            reader=third,
            columns="name string, value string, at timestamp",
            named=("name", "value", "at"),
        )
        kind = Kind(lambda _: kind_of(case).rows("rows"), ["rows"])
        self.links = [Link(flow, kind, self.first.model) for flow in (second_flow, third_flow)]

    @property
    def met(self) -> Counter[str]:
        links = (Counter({f"{k} down": n for k, n in one.met.items()}) for one in self.links)
        return sum(links, self.first.met.copy())

    def play(self, events: Iterable[Any]) -> None:
        """Play all of it.

        Raises:
            AssertionError: a run ended as it should not have, or the promise is broken.
        """
        for event in events:
            match event:
                case Down(link, Go() as go):
                    self.links[link].turn(go)
                    self._check_origin()
                case Down(link, other):
                    self.links[link].happen(other)
                case Settle(whole):
                    self._settle(whole)
                case _:
                    self.first.happen(event)
                    self.ever |= self.chain.expected(self._published())[0].keys()

    def _published(self) -> Parts:
        """What the first pipeline has to have published, by what was given to it."""
        home, given = self.first.flow.layout.home, self.first.given
        taken = batches(home, given.generation)
        given.flushed = flushed(home, given.generation)
        upto = last_published(home, given.generation)
        return expected(taken, upto, self.first.model, given).rows

    def _check_origin(self) -> None:
        """No row comes from what the first pipeline has not published."""
        strange = self.links[0].flow.rows.keys() - self.ever
        if strange:
            raise Broken("second", Counter(strange), Counter())

    def _settle(self, whole: bool) -> None:
        for link in self.links:
            for _ in range(MANY):
                link.happen(LetOut(everything=True))
                if not link.turn(Go()):
                    break
            else:
                raise AssertionError(f"{link.flow.name} never has nothing to do")
        wanted = self.chain.expected(self._published())
        for link, rows in zip(self.links, wanted, strict=True):
            due = link.due()
            assert not (due and whole), (link.flow.name, due)
            found, rest = (_but(some, due) for some in (link.flow.rows, rows))
            if found != rest:
                raise Broken(link.flow.name, found, rest)
        self.first.met["settled"] += 1


def _but(rows: Rows, due: Sequence[Due]) -> Rows:
    """The rows of partitions that wait for nothing."""
    waiting = [part for one in due for part in (one.waiting, one.partitions) if part is not None]
    return Counter(
        {row: n for row, n in rows.items() if not any(one.hold({"day": row[0]}) for one in waiting)}
    )
