"""What the promise is after people had something computed again: remembered by whoever asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from deltalake import DeltaTable

from tests.oracle.changed_versions import Other, Versions
from tests.oracle.counting_events import CountingEvents
from tests.oracle.decisions import Ask
from tests.oracle.history_facts import HOURS, Given, Input, Model, Reinstated, Statics, Swap
from tests.oracle.pipeline_inputs import time_of_minute
from tests.oracle.play import Play
from tests.oracle.promise import Broken
from tests.oracle.recorded import Taken, batches, forked_from
from tests.oracle.times import HOUR as HOUR_MS
from tests.oracle.times import ms_of_time
from tidemill.contract.report import Report, Step
from tidemill.increments.increments import Increment, State
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.event import Event
from tidemill.journal.journal import Journal
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import read_request

HOUR = timedelta(hours=1)
# Not asked of the states themselves: what they say may be the defect.
GIVEN_UP = (State.REJECTED, State.DROPPED, State.SUPERSEDED)


@dataclass
class Wish:
    """A run that a person asked for, and how far it has come.

    Args:
        event: The event of the history.
        left: Its steps that have still to be done.
        model: The version by which it was computed.
        generation: The one that a rebuild filled, empty for the others.
        statics: The static inputs that each batch of it was read with.
        files: How many had arrived by then.
        increment: What it computed.
        inputs: That it takes away or brings back, with the static ones it was read with.
        back_to: The run that a rewind goes back to.
    """

    event: Ask
    run_id: str
    left: list[Step]
    model: Model
    generation: str = ""
    statics: dict[int, Statics] = field(default_factory=dict)
    files: int = 0
    increment: int | None = None
    inputs: Mapping[Input, Statics] = field(default_factory=dict)
    back_to: str = ""


@dataclass
class Remembering(Play):
    """A pipeline of which people ask something.

    Args:
        other: How the pipeline is also written.
        versions: Its models.
    """

    other: Other = field(kw_only=True)
    versions: Versions = field(kw_only=True)
    _code: bool = False
    _rule: bool = False
    _wishes: list[Wish] = field(default_factory=list)
    _placed: set[int] = field(default_factory=set)
    counting: CountingEvents = field(default_factory=CountingEvents)
    _rejected: dict[int, Mapping[Input, Statics]] = field(default_factory=dict)

    @property
    def now(self) -> Model:
        return self.versions.models[self._code, self._rule]

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.flow.layout)

    def wanted(self, role: str) -> int | None:
        """The increment that a decision is about, None where there is none."""
        if role == "reject":
            held = (one for one in self.snapshot.increments if one.state is State.HELD)
            return next((one.number for one in held), None)
        if role == "reinstate":
            gone_out = {event.increment for event in self._events()}
            return next((number for number in self._rejected if number in gone_out), None)
        return None

    def why_not(self, wish: Wish) -> set[str]:
        """The errors with which a run may be refused now."""
        event, slots, published = wish.event, self.other.slots, self._published()
        found = set[str]()
        match event.role:
            case "backfill" if published < 0:
                found.update({"NothingPublished", *(() if slots else ("NotComputable",))})
            case "backfill" if slots is None:
                found.add("NotComputable")
            case "backfill" if slots is not None:
                end = max(self._slots(event))
                last = self._batches()[published]
                until = ms_of_time(f"{end}:00+00:00") + HOUR_MS + slots.open_ms
                if slots.forgives and last.watermark_ms < until:
                    found.add("NotFinal")
                if not any(self.partitions[slot] for slot in self._slots(event)):
                    found.add("OutsidePrefix")
                if slots.read and any(self._other_rule(batch) for batch in range(published + 1)):
                    found.add("RowsMove")
            case "redo" if len(self._batches()) <= 1 + published:
                found.add("NothingToRedo")
            case "reject":
                recomputation = self._requested(self.wanted("reject"))
                if not self.other.rejects and (recomputation is None or recomputation.in_order):
                    found.add("NotRejectable")
            case "reinstate" if self._was_reinstated(wish):
                found.add("NotRejected")
            case "rebuild" if self.last_of("offsets") < 0:
                found.add("NothingToRebuild")
            case "rewind":
                found.update(self.counting.why_not_rewind(wish.back_to))
        return found

    def _was_reinstated(self, wish: Wish) -> bool:
        """Whether another run has brought back what a run is to bring back."""
        request = read_request(self.flow.layout.run(wish.run_id))
        recomputations = (event.recomputation for event in self._events())
        return any(request.increment in one.reinstates for one in recomputations if one)

    def _batches(self) -> list[Taken]:
        return batches(self.flow.layout.home, self.given.generation)

    def _other_rule(self, batch: int) -> bool:
        """Whether another row rule than today's was in force in a batch."""
        of_then = self.given.models.get(batch, self.model)
        return of_then not in (self.versions.models[code, self._rule] for code in (False, True))

    @property
    def partitions(self) -> Counter[str]:
        """How many rows each published partition has."""
        column = "" if self.other.slots is None else self.other.slots.column
        if not DeltaTable.is_deltatable(str(self.flow.layout.table)):
            return Counter()
        table = DeltaTable(self.flow.layout.table).to_pyarrow_table(columns=[column])
        return Counter(table[column].to_pylist())

    def computed(self, wish: Wish, report: Report) -> None:
        """Remember by which version, and what else the result depends on."""
        self._refuse_what_was_given_up(wish)
        wish.model, wish.files = self.now, self._files
        self.met["lost a race"] += report.step == "publish"
        recomputation = self._requested(wish.increment)
        if recomputation is not None and recomputation.kind == "redo":
            for batch in range(recomputation.first, recomputation.last + 1):
                self.given.models[batch] = self.now
        if wish.increment is not None and wish.event.role == "rebuild":
            place = self.snapshot.get(wish.increment).sealed.covers
            self._filled(wish, place.generation, place.last)
        if report.facts.get("coalesced") and wish.increment in self._placed:
            self.met["coalesced"] += 1
            swap = self._swap(wish, self._published())
            self.given.asked.append(swap)

    def _refuse_what_was_given_up(self, wish: Wish) -> None:
        number = wish.increment
        if number is not None and self.snapshot.get(number).state in GIVEN_UP:
            raise Broken("answers", Counter(), Counter({(wish.event.role, number): 1}))

    def _filled(self, wish: Wish, generation: str, last: int) -> None:
        """What lost its race fills the same generation further, unless the code has changed."""
        if wish.generation != generation:
            wish.generation, wish.statics = generation, {}
        if last in wish.statics:
            return
        wish.model, wish.files = self.now, self._files
        for batch in range(len(wish.statics), last + 1):
            wish.statics[batch] = self._statics

    def fork(self, before: str) -> None:
        """Go on with a generation that was forked off, or with the one that is there."""
        if self.other.rejects:
            return
        generation = current(self.flow.layout)
        if generation != before:
            first = next(
                b.first for b in read_takeovers(self.flow.layout.home) if b.generation == generation
            )
            self._cut(generation, first)
            self.given.starts.add(first)
            self.met["forked"] += 1
        self.end()

    def _cut(self, generation: str, first: int) -> None:
        """Forget the batches from one on: another generation runs them."""
        given = self.given
        given.generation = generation
        given.starts = {start for start in given.starts if start < first}
        given.passed_over = {batch for batch in given.passed_over if batch < first}
        given.statics = {b: files for b, files in given.statics.items() if b < first}
        given.models = {b: model for b, model in given.models.items() if b < first}

    def note_placed(self) -> None:
        """What stands in the journal and in the table is what the promise is about."""
        for event in self._events():
            number = event.increment
            if number in self._placed or event.seq not in self._visible():
                continue
            self._placed.add(number)
            self.counting.add(event)
            wish = next((w for w in self._wishes if self.increment_of(w.run_id) == number), None)
            recomputation = event.recomputation
            if recomputation is None or wish is None:
                continue
            self.met[recomputation.kind] += 1
            match recomputation.kind:
                case "backfill":
                    self.given.asked.append(self._swap(wish, recomputation.last))
                case "reinstate":
                    self.given.without -= wish.inputs.keys()
                    self.given.asked.append(Reinstated(wish.inputs, wish.model))
                case "rebuild":
                    # Another run's publish may have computed it again.
                    self._filled(wish, event.generation, event.last)
                    self._rebuilt(wish)
                case "rewind":
                    self._rewound(wish, event)
        self.roll_over()

    def _rebuilt(self, wish: Wish) -> None:
        """Another generation has read everything again."""
        old = self.given
        self.given = Given(
            arrived=old.arrived,
            starts={0},
            generation=wish.generation,
            left_out=set(old.without),
            without=set(old.without),
            whole=wish.files == self._files,
        )
        self.given.statics.update(wish.statics)
        self.given.models.update(dict.fromkeys(wish.statics, wish.model))

    def _rewound(self, wish: Wish, event: Event) -> None:
        """All that was published after a run is undone, and its input is read again."""
        last = self.counting.rewind(event, wish.back_to)
        self._cut(event.generation, last + 1)
        self.given.whole = False

    def reject(self, number: int, inputs: Mapping[Input, Statics]) -> None:
        if self.snapshot.get(number).dropped:
            self.met["dropped"] += 1
        elif number not in self._rejected:
            self._rejected[number] = inputs
            self.given.left_out |= inputs.keys()
            self.given.without |= inputs.keys()
            self.met["rejection"] += 1

    def _swap(self, wish: Wish, upto: int) -> Swap:
        return Swap(upto, self._slots(wish.event), wish.model, frozenset(self.given.without))

    def _slots(self, event: Ask) -> frozenset[str]:
        """The whole hours that an interval touches."""
        start, end = (time_of_minute(minute) for minute in (event.start, event.end))
        at, found = start.replace(minute=0), set()
        while at < end:
            found.add(f"{at:{HOURS}}")
            at += HOUR
        return frozenset(found)

    def inputs_of(self, increment: Increment) -> Mapping[Input, Statics]:
        """What an increment of the live generation read, with its static inputs."""
        place = increment.sealed.covers
        return {
            (source, name): self.given.statics[batch.number]
            for batch in batches(self.flow.layout.home, place.generation)
            if place.first <= batch.number <= place.last
            for source, names in batch.inputs.items()
            for name in names
        }

    def increment_of(self, run_id: str) -> int | None:
        return read_run_increment(self.flow.layout.run(run_id))

    def _requested(self, number: int | None) -> Any:
        return None if number is None else self.snapshot.get(number).sealed.recomputation

    def _events(self) -> list[Event]:
        return Journal(self.flow.layout.journal).events()

    def _visible(self) -> Any:
        return Journal(self.flow.layout.journal).published()

    def _published(self) -> int:
        """The last batch of the live generation that is in the journal."""
        events = [e for e in self._events() if e.generation == self.given.generation]
        before = forked_from(self.flow.layout.home, self.given.generation)
        return max((e.last for e in events if e.kind != "swap"), default=before)
