"""Play a history on a pipeline, and hold the promise against its model after every publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.oracle.history import Again, Arrive, Change, Die, Flush, Go, Kill, LetOut, Limit
from tests.oracle.history_facts import Given, Model
from tests.oracle.kill import entries, kill_when
from tests.oracle.pipeline_inputs import Kind, time_of_minute
from tests.oracle.promise import Found, check
from tests.oracle.shipped import Shipped
from tests.support.pipelines.json_pipeline import SUITE
from tidemill.contract.report import Outcome
from tidemill.increments.increments import State
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import read_takeovers
from tidemill.spec.output import OutputMode
from tidemill.steps.decisions.flush import NothingToFlush, flush
from tidemill.steps.decisions.release import release

# What no increment of a history holds.
STRICT = {
    **SUITE,
    "expectations": [
        {
            "type": "expect_table_row_count_to_be_between",
            "kwargs": {"min_value": 1_000_000},
            # A count of one increment would not judge what is computed again.
            "meta": {"scope": "table"},
        }
    ],
}


@dataclass
class Play:
    """A pipeline under a history.

    Args:
        flow: The pipeline, with nothing in it yet.
        kind: The kind of its histories.
        model: The model of the same pipeline.

    Attributes:
        met: Which kinds of event truly happened, and how often.
        found: The checks, in order.
        given: What the pipeline was given so far.
        version: The version of its code and rules, where it is another than the model's.
    """

    flow: Shipped
    kind: Kind
    model: Model
    met: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    given: Given = field(default_factory=Given)
    version: Model | None = None
    _statics: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _last: Arrive | None = None
    _files: int = 0
    _runs: int = 0
    _new: int = 0

    def __post_init__(self) -> None:
        for path, lines in self.kind.statics.items():
            self._change(Change(path, lines))

    def play(self, events: Iterable[Any]) -> None:
        """Play all of it.

        Raises:
            AssertionError: a run ended as it should not have, or the promise is broken.
        """
        for event in events:
            self.happen(event)
        assert self.found[-1].published == self.found[-1].committed, "something was never published"

    def happen(self, event: Any) -> None:
        """Play one event of it."""
        match event:
            case Arrive():
                self._arrive(event)
            case Again():
                self._again()
            case Change():
                self._change(event)
                self.met["changed"] += 1
            case Flush():
                self._flush(event)
            case Limit():
                self.flow.write(
                    rollover={"after_batches": event.batches, "after_files": event.batches}
                )
            case Go():
                self._go(event)
                self.check()
            case Die():
                self._die(event)
                self.check()
            case LetOut():
                self._let_out(event)
                self.check()

    def check(self) -> None:
        """Hold the promise against the model."""
        self.roll_over()
        self.found.append(check(self.flow.layout.home, self.model, self.given))
        self.met["late"] += self.found[-1].late
        self.met["rejected"] += self.found[-1].rejected

    def roll_over(self) -> None:
        """Go on with the generation that rollovers have made live."""
        for takeover in read_takeovers(self.flow.layout.home):
            if (takeover.kind, takeover.predecessor) == ("rollover", self.given.generation):
                self.given.generation = takeover.generation
                self.met["rolled over"] += 1

    def _arrive(self, event: Arrive) -> None:
        self._files += 1
        self._new += 1
        self._last = event
        self.given.whole = False
        lines = self.kind.lines(event.rows)
        new = self.flow.deliver(event.source, f"{self._files:04d}", lines)
        self.given.arrived.setdefault(event.source, {}).update(new)
        self.met["nothing in it"] += not event.rows

    def _again(self) -> None:
        if self._last is not None:
            self.met["duplicate"] += bool(self._last.rows)
            self._arrive(self._last)

    def _change(self, event: Change) -> None:
        self._statics = {**self._statics, event.path: event.lines}
        self.flow.put(event.path, event.lines)

    def _flush(self, event: Flush) -> None:
        to = time_of_minute(event.minute)
        try:
            flush(self.flow.pipeline, to, by="ada", reason="oracle", run_id=f"flush-{self._runs}")
        except NothingToFlush:
            return
        self.met["flushed"] += 1

    def _go(self, event: Go) -> None:
        self._runs += 1
        run_id = f"run-{self._runs}"
        self.met["run"] += 1
        self.met["empty run"] += not self._new
        self.flow.suite = STRICT if event.strict else SUITE
        self.flow.write()
        doctor = self.flow.step("doctor", run_id)
        if doctor.outcome is Outcome.SKIPPED:
            self.met["skipped"] += 1
            return
        assert doctor.outcome is Outcome.DONE, doctor.error
        self._ingest(run_id)
        if event.kill is not None and self._kill(event.kill):
            if not event.retried:
                self.met["not retried"] += 1
                return
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
            self.given.torn = False
            self.met["waited"] += published.outcome is Outcome.WAITING

    def _ingest(self, run_id: str) -> None:
        self.begin()
        ingested = self.flow.step("ingest", run_id)
        assert ingested.outcome is Outcome.DONE, ingested.error
        self.end()

    def begin(self) -> None:
        """A start of the query."""
        committed, planned = self.last_of("commits"), self.last_of("offsets")
        self.given.starts.add(committed + 1)
        if planned > committed and self._sink_has(planned):
            self.given.passed_over.add(planned)
        if planned > committed and self.given.statics[planned] != self._statics:
            # A batch of other static inputs runs alone, by a start of its own.
            self.given.starts.add(planned + 1)
            self.met["again with statics of then"] += 1

    def end(self, whole: bool = True) -> None:
        """The end of one, which planned its batches with the static inputs of now."""
        self._new, self.given.whole = 0, whole
        for batch in range(max(self.given.statics, default=-1) + 1, self.last_of("offsets") + 1):
            self.given.statics[batch] = self._statics
            self.given.models[batch] = self.version or self.model

    def _die(self, event: Die) -> None:
        self._runs += 1
        run_id = f"run-{self._runs}"
        self.met["run"] += 1
        self.flow.suite = SUITE
        self.flow.write()
        self.begin()
        until = entries(self.flow.layout.home) + event.after
        killed = kill_when(self.flow.start(run_id), lambda: entries(self.flow.layout.home) >= until)
        self.end(whole=False)
        # Where its increment is held, it does not publish what one before left to be published.
        published = (self.flow.layout.run(run_id) / "publish.json").exists()
        self.given.torn = killed or (self.given.torn and not published)
        self.met["died"] += killed
        self.met["killed"] += killed

    def last_of(self, log: str) -> int:
        """The last entry of one of the checkpoint's logs, -1 where there is none."""
        entries = (self.flow.layout.checkpoint(self.given.generation) / log).glob("[0-9]*")
        return max((int(path.name) for path in entries), default=-1)

    def _kill(self, point: Kill) -> bool:
        """Leave the last batch as a driver does that is killed there; whether there is one."""
        batch, layout = self.last_of("commits"), self.flow.layout
        document = layout.ledger(self.given.generation) / f"{batch:06d}.json"
        if batch <= Snapshot(layout).last_sealed(self.given.generation):
            return False
        self.met[f"killed before {point}"] += 1
        self.met["killed"] += 1
        self.given.whole = False
        document.unlink()
        if point is not Kill.LEDGER:
            _forget(layout.checkpoint(self.given.generation) / "commits" / str(batch))
        if point is Kill.SINK:
            _forget(self._sink_entry(batch))
        return True

    def _sink_entry(self, batch: int) -> Path:
        return next(entry for entry in self._sink_entries(batch) if entry.exists())

    def _sink_has(self, batch: int) -> bool:
        return any(entry.exists() for entry in self._sink_entries(batch))

    def _sink_entries(self, batch: int) -> tuple[Path, ...]:
        sink = self.flow.layout.sink(self.given.generation)
        if self.flow.pipeline.spec.output.mode is OutputMode.APPEND:
            # Every tenth holds all those before it too.
            log = sink / "_spark_metadata"
            return log / f"{batch}.compact", log / f"{batch}"
        return (sink / f"batch={batch}" / "_manifest.json",)

    def _let_out(self, event: LetOut) -> None:
        increments = Snapshot(self.flow.layout).increments
        held = [one.number for one in increments if one.state is State.HELD]
        for number in held if event.everything else held[:1]:
            run_id = f"out-{number}"
            release(self.flow.pipeline, number, by="ada", reason="oracle", run_id=run_id)
            published = self.flow.step("publish", run_id)
            assert published.outcome is Outcome.DONE, published.error
            self.given.torn = False
            self.met["released"] += 1


def _forget(entry: Path) -> None:
    entry.unlink()
    entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)
