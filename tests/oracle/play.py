"""Play a history on a pipeline, and hold the promise against its model after every publish."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from spark_jobs.contract.layout import FIRST_GENERATION
from spark_jobs.contract.output import OutputMode
from spark_jobs.contract.report import Outcome
from spark_jobs.ledger.increments import Increments, State
from spark_jobs.steps.release import release
from tests.e2e.flow import SUITE, Flow
from tests.oracle.history import Arrive, Event, Go, Kill, LetOut
from tests.oracle.promise import Found, Model, check

# What no increment of a history holds.
STRICT = {
    **SUITE,
    "expectations": [
        {
            "type": "expect_table_row_count_to_be_between",
            "kwargs": {"min_value": 1_000_000},
            "meta": {},
        }
    ],
}


@dataclass
class Play:
    """A pipeline under a history.

    Args:
        flow: The pipeline, with nothing in it yet.
        model: Of the same pipeline.

    Attributes:
        met: Which kinds of event truly happened.
        found: The checks, in order.
    """

    flow: Flow
    model: Model
    met: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    _starts: set[int] = field(default_factory=set)
    _files: int = 0
    _runs: int = 0

    def play(self, events: Iterable[Event]) -> None:
        """Play all of it.

        Raises:
            AssertionError: a run ended as it should not have, or the promise is broken.
        """
        for event in events:
            if isinstance(event, Arrive):
                self._arrive(event)
            elif isinstance(event, LetOut):
                self._let_out()
            else:
                self._go(event)
                self.found.append(check(self.flow.layout.home, self.model, self._starts))
                self.met["late"] += self.found[-1].late
                self.met["rejected"] += self.found[-1].rejected

    def _arrive(self, event: Arrive) -> None:
        self._files += 1
        lines = [row if isinstance(row, str) else json.dumps(row) for row in event.rows]
        self.flow.arrive_text(event.source, f"{self._files:04d}", lines)
        self.met["empty file"] += not lines

    def _go(self, event: Go) -> None:
        self._runs += 1
        run_id = f"run-{self._runs}"
        self.met["run"] += 1
        self.flow.suite = STRICT if event.strict else SUITE
        self.flow.write()
        doctor = self.flow.step("doctor", run_id)
        if doctor.outcome is Outcome.SKIPPED:
            self.met["skipped"] += 1
            return
        assert doctor.outcome is Outcome.DONE, doctor.error
        self._ingest(run_id)
        if event.kill is not None and self._kill(event.kill):
            self._ingest(run_id)
        for again in range(1 + event.again):
            self.met["again"] += again
            gate = self.flow.step("gate", run_id)
            assert gate.outcome in (Outcome.DONE, Outcome.HELD), gate.error
            if gate.outcome is Outcome.HELD:
                self.met["held"] += 1
                continue
            published = self.flow.step("publish", run_id)
            # It waits where an earlier one is held.
            assert published.outcome in (Outcome.DONE, Outcome.WAITING), published.error

    def _ingest(self, run_id: str) -> None:
        self._starts.add(self._committed() + 1)
        ingested = self.flow.step("ingest", run_id)
        assert ingested.outcome is Outcome.DONE, ingested.error

    def _committed(self) -> int:
        commits = self.flow.layout.checkpoint(FIRST_GENERATION) / "commits"
        return max((int(path.name) for path in commits.glob("[0-9]*")), default=-1)

    def _kill(self, point: Kill) -> bool:
        """Leave the last batch as a driver does that is killed there; whether there is one."""
        batch, layout = self._committed(), self.flow.layout
        document = layout.ledger(FIRST_GENERATION) / f"{batch:06d}.json"
        sealed = max((i.sealed.last for i in Increments(layout.increments).all()), default=-1)
        if batch <= sealed:
            return False
        self.met[f"killed before {point}"] += 1
        document.unlink()
        if point is not Kill.LEDGER:
            _forget(layout.checkpoint(FIRST_GENERATION) / "commits" / str(batch))
        if point is Kill.SINK:
            _forget(self._sink_entry(batch))
        return True

    def _sink_entry(self, batch: int) -> Path:
        sink = self.flow.layout.sink(FIRST_GENERATION)
        if self.flow.pipeline.spec.output.mode is OutputMode.APPEND:
            return sink / "_spark_metadata" / str(batch)
        return sink / f"batch={batch}" / "_manifest.json"

    def _let_out(self) -> None:
        held = [i for i in Increments(self.flow.layout.increments).all() if i.state is State.HELD]
        if held:
            number = held[0].number
            release(self.flow.pipeline, number, by="ada", reason="oracle", run_id=f"out-{number}")
            self.met["released"] += 1


def _forget(entry: Path) -> None:
    entry.unlink()
    entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)
