"""Play a history in which people ask for what was computed to be computed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, get_args
from unittest.mock import patch

from deltalake import DeltaTable

from spark_jobs.contract.report import Outcome, Report, Step
from spark_jobs.ledger.generations import births, current
from spark_jobs.ledger.increments import Increment, Increments, State
from spark_jobs.ledger.journal import Journal
from spark_jobs.ledger.request import RunRequest, fix_request
from spark_jobs.ledger.run_increment import read_run_increment
from spark_jobs.publish.catch_up import CatchUp
from spark_jobs.steps.release import release
from tests.e2e.flow import SUITE
from tests.oracle.given import HOURS, Given, Input, Model, Reinstated, Statics, Swap
from tests.oracle.history import LetOut
from tests.oracle.kind import time_of_minute
from tests.oracle.others import Other, Versions
from tests.oracle.play import STRICT, Play
from tests.oracle.recorded import batches
from tests.oracle.times import HOUR as HOUR_MS
from tests.oracle.times import ms_of_time
from tests.oracle.wishes import Ask, Clear, Edit, Resume

STEPS: tuple[Step, ...] = get_args(Step)
HOUR = timedelta(hours=1)


class Killed(BaseException):
    """What a driver that is killed leaves is just what it had written."""


@dataclass
class Wish:
    """A run that a person asked for, and how far it has come.

    Args:
        event: Of the history.
        run_id: Of the run.
        left: Its steps that have still to be done.
        model: The version by which it was computed.
        statics: The static inputs as they were then.
        files: How many had arrived by then.
        increment: What it computed.
        inputs: That it takes away or brings back.
    """

    event: Ask
    run_id: str
    left: list[Step]
    model: Model
    statics: Statics = field(default_factory=dict)
    files: int = 0
    increment: int | None = None
    inputs: frozenset[Input] = frozenset()


@dataclass
class Asking(Play):
    """A pipeline under a history in which people decide, mend and ask.

    Args:
        other: How the pipeline is also written.
        versions: Its models.
    """

    other: Other = field(kw_only=True)
    versions: Versions = field(kw_only=True)
    _code: bool = False
    _rule: bool = False
    _wishes: list[Wish] = field(default_factory=list)
    _done: list[tuple[str, Step]] = field(default_factory=list)
    _placed: set[int] = field(default_factory=set)
    _rejected: dict[int, frozenset[Input]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.other.slots is not None:
            output = self.flow.spec["output"]
            (expression,) = output["partition_by"].values()
            hours = f"date_format({expression[len('to_date(') : -1]}, 'yyyy-MM-dd HH')"
            column = self.other.slots.column
            self.flow.write(output={**output, "partition_by": {column: hours}})

    def happen(self, event: Any) -> None:
        match event:
            case Edit():
                self._edit(event)
            case Ask():
                self._ask(event)
                self.check()
            case Resume():
                for wish in [wish for wish in self._wishes if wish.left]:
                    self.met["resumed"] += 1
                    self._go_on(wish, len(STEPS))
                    self.check()
            case Clear():
                self._clear(event)
                self.check()
            case _:
                super().happen(event)

    @property
    def now(self) -> Model:
        return self.versions.models[self._code, self._rule]

    @property
    def increments(self) -> Increments:
        return Increments(self.flow.layout.increments)

    def _edit(self, event: Edit) -> None:
        if self.last_of("offsets") > self.last_of("commits"):
            # Its rows would be of one version, and its state of another.
            return
        self._code ^= event.code
        self._rule ^= event.rule and self.other.rule is not None
        self.flow.edit(*(self.other.code if self._code else ("", "")))
        if self.other.rule is not None:
            name, sql, _ = self.other.rule
            rules = {k: v for k, v in self.flow.spec.get("row_rules", {}).items() if k != name}
            self.flow.write(row_rules={**rules, **({name: sql} if self._rule else {})})
        self.version = self.now
        self.met["edited"] += 1

    def _ask(self, event: Ask) -> None:
        role = event.role
        number = self._wanted(role)
        if number is None and role in ("reject", "reinstate"):
            self.met[f"nothing to {role}"] += 1
            return
        wish = Wish(event, f"{role}-{len(self._wishes)}", [*STEPS], self.now)
        request = RunRequest(role=role, increment=number, by="ada", reason="oracle")
        if role == "backfill":
            start, end = (time_of_minute(minute) for minute in (event.start, event.end))
            request = request.model_copy(update={"start": start, "end": end, "dry_run": event.dry})
        if role == "reject" and number is not None:
            wish.inputs = self._inputs_of(self.increments.get(number))
        if role == "reinstate" and number is not None:
            wish.inputs = self._rejected[number]
        fix_request(self.flow.layout.run(wish.run_id), request)
        self._wishes.append(wish)
        self._go_on(wish, event.steps)

    def _wanted(self, role: str) -> int | None:
        """The increment that a decision is about."""
        if role == "reject":
            held = (one for one in self.increments.in_order() if one.state is State.HELD)
            return next((one.number for one in held), None)
        if role == "reinstate":
            gone_out = {event.increment for event in self._events()}
            return next((number for number in self._rejected if number in gone_out), None)
        return None

    def _go_on(self, wish: Wish, steps: int) -> None:
        """So many more steps of a run."""
        for step in wish.left[:steps]:
            report = self._step(wish, step)
            if report.outcome in (Outcome.REFUSED, Outcome.HELD, Outcome.FAILED):
                if report.outcome is Outcome.HELD:
                    self.met["held again"] += 1
                else:
                    self._refused(wish, step, report)
                # What is held goes on when a person lets it out.
                wish.left = []
                return
            wish.left = wish.left[1:]

    def _step(self, wish: Wish, step: Step) -> Report:
        strict = wish.event.strict and (wish.run_id, "gate") not in self._done
        self.flow.suite = STRICT if strict and step == "gate" else SUITE
        self.flow.write()
        if (wish.run_id, step) not in self._done:
            self._done.append((wish.run_id, step))
        if step == "publish" and wish.event.crash:
            self._crash(wish)
        before, generation = self._increment_of(wish.run_id), self.given.generation
        report = self.flow.step(step, wish.run_id)
        if report.outcome in (Outcome.DONE, Outcome.WAITING):
            wish.increment = self._increment_of(wish.run_id)
            if step == "doctor" and wish.event.role == "reject" and wish.increment is not None:
                self._reject(wish.increment, wish.inputs)
            computed = wish.increment != before or step == "ingest"
            if computed and wish.event.role not in ("release", "reject"):
                self._computed(wish, report, generation)
            self._note_placed()
        return report

    def _crash(self, wish: Wish) -> None:
        """The driver is killed when the journal says what is to be done, and nothing is done."""
        with self._killed_before_any_target():
            self.flow.step("publish", wish.run_id)

    @contextmanager
    def _killed_before_any_target(self) -> Iterator[None]:
        def die(_: CatchUp) -> None:
            self.met["crashed"] += 1
            raise Killed

        with patch.object(CatchUp, "run", die):
            try:
                yield
            except Killed:
                return

    def _computed(self, wish: Wish, report: Report, generation: str) -> None:
        """Remember by which version, and what else the result depends on."""
        wish.model, wish.statics, wish.files = self.now, self._statics, self._files
        self.met["lost a race"] += report.step == "publish"
        if wish.event.role == "redo":
            made = self._made(wish.increment)
            if made is None:
                self._fork(generation)
            elif report.facts.get("supersedes"):
                for batch in range(made.first, made.last + 1):
                    self.given.models[batch] = self.now
        if report.facts.get("coalesced") and wish.increment in self._placed:
            self.met["coalesced"] += 1
            swap = self._swap(wish, self._published())
            self.given.asked.append(swap)

    def _fork(self, before: str) -> None:
        """Go on with a generation that was forked off, or with the one that is there."""
        generation = current(self.flow.layout)
        if generation != before:
            first = next(
                b.first for b in births(self.flow.layout.home) if b.generation == generation
            )
            given = self.given
            given.generation = generation
            given.starts = {start for start in given.starts if start < first} | {first}
            given.passed_over = {batch for batch in given.passed_over if batch < first}
            given.statics = {b: files for b, files in given.statics.items() if b < first}
            given.models = {b: model for b, model in given.models.items() if b < first}
            self.met["forked"] += 1
        self.end()

    def _note_placed(self) -> None:
        """What stands in the journal and in the table is what the promise is about."""
        for event in self._events():
            number = event.increment
            if number in self._placed or event.seq not in self._visible():
                continue
            self._placed.add(number)
            wish = next((w for w in self._wishes if self._increment_of(w.run_id) == number), None)
            made = event.made
            if made is None or wish is None:
                continue
            self.met[made.by_way_of] += 1
            match made.by_way_of:
                case "backfill":
                    self.given.asked.append(self._swap(wish, made.last))
                case "reinstate":
                    self.given.without -= wish.inputs
                    self.given.asked.append(Reinstated(wish.inputs, wish.model))
                case "rebuild":
                    self._rebuilt(wish, event.generation)

    def _rebuilt(self, wish: Wish, generation: str) -> None:
        """Another generation has read everything again."""
        old = self.given
        self.given = Given(
            arrived=old.arrived,
            starts={0},
            generation=generation,
            left_out=set(old.without),
            without=set(old.without),
            whole=wish.files == self._files,
        )
        for batch in range(self.last_of("offsets") + 1):
            self.given.statics[batch] = wish.statics
            self.given.models[batch] = wish.model

    def _reject(self, number: int, inputs: frozenset[Input]) -> None:
        if number not in self._rejected:
            self._rejected[number] = inputs
            self.given.left_out |= inputs
            self.given.without |= inputs
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

    def _inputs_of(self, increment: Increment) -> frozenset[Input]:
        place = increment.sealed.stands_for
        return frozenset(
            (source, name)
            for batch in batches(self.flow.layout.home, place.generation)
            if place.first <= batch.number <= place.last
            for source, names in batch.inputs.items()
            for name in names
        )

    def _refused(self, wish: Wish, step: Step, report: Report) -> None:
        assert report.error is not None
        self.met[f"refused {wish.event.role}"] += 1
        why = self._why_not(wish.event)
        assert report.error["code"] in why, (wish, step, report.error, why)

    def _why_not(self, event: Ask) -> set[str]:
        """The errors with which a run may be refused now."""
        slots, published = self.other.slots, self._published()
        found = set[str]()
        match event.role:
            case "backfill" if slots is None:
                found.add("NotComputable")
            case "backfill" if published < 0:
                found.add("NothingPublished")
            case "backfill" if slots is not None:
                end = max(self._slots(event))
                last = batches(self.flow.layout.home, self.given.generation)[published]
                until = ms_of_time(f"{end}:00+00:00") + HOUR_MS + slots.open_ms
                if slots.forgives and last.watermark_ms < until:
                    found.add("NotFinal")
                if not any(self.partitions[slot] for slot in self._slots(event)):
                    found.add("OutsidePrefix")
            case "redo" if self.last_of("offsets") <= published:
                found.add("NothingToRedo")
            case "reject" if not self.other.rejects:
                found.add("NotRejectable")
            case "rebuild" if self.last_of("offsets") < 0:
                found.add("NothingToRebuild")
        return found

    @property
    def partitions(self) -> Counter[str]:
        """How many rows each published partition has."""
        column = "" if self.other.slots is None else self.other.slots.column
        if not DeltaTable.is_deltatable(str(self.flow.layout.table)):
            return Counter()
        table = DeltaTable(self.flow.layout.table).to_pyarrow_table(columns=[column])
        return Counter(table[column].to_pylist())

    def _clear(self, event: Clear) -> None:
        if not self._done:
            return
        run_id, step = self._done[event.which % len(self._done)]
        self.met["cleared"] += 1
        wish = next((one for one in self._wishes if one.run_id == run_id), None)
        if wish is not None:
            report = self._step(wish, step)
        elif step == "ingest":
            self._ingest(run_id)
            return
        else:
            self.flow.suite = SUITE
            self.flow.write()
            report = self.flow.step(step, run_id)
            self._note_placed()
        assert report.error is None or wish is not None, report.error

    def _go(self, event: Any) -> None:
        super()._go(event)
        run_id = f"run-{self._runs}"
        folder = self.flow.layout.run(run_id)
        self._done += [(run_id, step) for step in STEPS if (folder / f"{step}.json").exists()]
        self._note_placed()

    def _let_out(self, event: LetOut) -> None:
        held = [one for one in self.increments.all() if one.state is State.HELD]
        for one in held if event.everything else held[:1]:
            wish = next((w for w in self._wishes if w.increment == one.number), None)
            run_id = f"out-{one.number}" if wish is None else wish.run_id
            release(self.flow.pipeline, one.number, by="ada", reason="oracle", run_id=run_id)
            self.met["released"] += 1
            if wish is not None:
                wish.left = ["publish"]
                self._go_on(wish, 1)
                continue
            published = self.flow.step("publish", run_id)
            assert published.outcome in (Outcome.DONE, Outcome.WAITING), published.error
            self._note_placed()

    def _increment_of(self, run_id: str) -> int | None:
        return read_run_increment(self.flow.layout.run(run_id))

    def _made(self, number: int | None) -> Any:
        return None if number is None else self.increments.get(number).sealed.made

    def _events(self) -> list[Any]:
        return Journal(self.flow.layout.journal).events()

    def _visible(self) -> Any:
        return Journal(self.flow.layout.journal).published()

    def _published(self) -> int:
        """The last batch of the live generation that is in the journal."""
        events = [e for e in self._events() if e.generation == self.given.generation]
        return max((e.last for e in events if e.kind != "swap"), default=-1)
