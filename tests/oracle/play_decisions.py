"""Play a history in which people ask for what was computed to be computed again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

from tests.oracle.cases import CASES
from tests.oracle.changed_versions import OTHERS, Versions, kind_of
from tests.oracle.decisions import Ask, Clear, Edit, Resume
from tests.oracle.history import LetOut
from tests.oracle.pipeline_inputs import time_of_minute
from tests.oracle.play import STRICT
from tests.oracle.recomputed_promise import Remembering, Wish
from tests.oracle.shipped import Shipped
from tests.support.pipelines.json_pipeline import SUITE
from tidemill.contract.report import Outcome, Report, Step
from tidemill.increments.increments import State
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.publish.catch_up import CatchUp
from tidemill.steps.decisions.release import release

STEPS: tuple[Step, ...] = get_args(Step)


class Killed(BaseException):
    """What a driver that is killed leaves is just what it had written."""


def asking(name: str, home: Path, events: Iterable[Any], *, once: bool = False) -> Asking:
    """A shipped pipeline after a history of wishes.

    Args:
        name: The name of its case.
        home: An empty folder.
        events: The history.
        once: Whether each run is one batch, of all that is there.
    """
    flow, versions = Shipped(home, shipped=CASES[name].pipeline or name), Versions.of(name)
    if once:
        sources = {
            name: {field: said for field, said in one.items() if field != "maxFilesPerTrigger"}
            for name, one in flow.spec["sources"].items()
        }
        flow.write(trigger="once", sources=sources)
    first = versions.models[False, False]
    play = Asking(flow, kind_of(name), first, other=OTHERS[name], versions=versions)
    play.play(events)
    return play


@dataclass
class Asking(Remembering):
    """A pipeline under a history in which people fix, decide and ask."""

    _done: list[tuple[str, Step]] = field(default_factory=list)

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
        number = self.wanted(role)
        if number is None and role in ("reject", "reinstate"):
            self.met[f"nothing to {role}"] += 1
            return
        back_to = self.counting.run_before(event.back) if role == "rewind" else ""
        if back_to is None:
            self.met["nothing to rewind"] += 1
            return
        wish = Wish(event, f"{role}-{len(self._wishes)}", [*RunRequest(role=role).steps], self.now)
        request = RunRequest(role=role, increment=number, by="ada", reason="oracle")
        if role == "rewind":
            wish.back_to = back_to
            request = request.model_copy(update={"back_to": back_to})
        if role == "backfill":
            start, end = (time_of_minute(minute) for minute in (event.start, event.end))
            request = request.model_copy(update={"start": start, "end": end, "dry_run": event.dry})
        if role == "reject" and number is not None:
            wish.inputs = self.inputs_of(self.snapshot.get(number))
        if role == "reinstate" and number is not None:
            wish.inputs = self._rejected[number]
        fix_request(self.flow.layout.run(wish.run_id), request)
        self._wishes.append(wish)
        # The decision itself counts as a part of its doctor.
        self._go_on(wish, event.steps + (role == "reject"))

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
        before, generation = self.increment_of(wish.run_id), self.given.generation
        report = self.flow.step(step, wish.run_id)
        # A publish may have computed it again, also where that is held.
        if report.outcome in (Outcome.DONE, Outcome.WAITING, Outcome.HELD):
            wish.increment = self.increment_of(wish.run_id)
            if step == "decide" and wish.event.role == "reject" and wish.increment is not None:
                self.reject(wish.increment, wish.inputs)
            if wish.increment != before and wish.event.role != "reject":
                self.computed(wish, report)
            elif step == "ingest" and wish.event.role == "redo" and before is None:
                self.fork(generation)
            self.note_placed()
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

    def _refused(self, wish: Wish, step: Step, report: Report) -> None:
        assert report.error is not None
        # Its publish may have let out what others had computed before it.
        self.note_placed()
        self.met[f"refused {wish.event.role}"] += 1
        why = self.why_not(wish)
        assert report.error["code"] in why, (wish, step, report.error, why)

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
            self.note_placed()
        assert report.error is None or wish is not None, report.error

    def _go(self, event: Any) -> None:
        super()._go(event)
        run_id = f"run-{self._runs}"
        folder = self.flow.layout.run(run_id)
        self._done += [(run_id, step) for step in STEPS if (folder / f"{step}.json").exists()]
        self.note_placed()

    def _let_out(self, event: LetOut) -> None:
        held = [one for one in self.snapshot.increments if one.state is State.HELD]
        for one in held if event.everything else held[:1]:
            if self.snapshot.get(one.number).state is not State.HELD:
                # Another run was asked for the same, and its gate has judged it again.
                continue
            wish = next((w for w in self._wishes if w.increment == one.number), None)
            run_id = f"out-{one.number}" if wish is None else wish.run_id
            release(self.flow.pipeline, one.number, by="ada", reason="oracle", run_id=run_id)
            self.met["released"] += 1
            if wish is not None:
                wish.left = ["publish"]
                self._go_on(wish, 1)
                continue
            published = self.flow.step("publish", run_id)
            # What lost its race was computed again, and may leave no row once more.
            again = published.facts.get("increment") not in (None, one.number)
            wanted = {Outcome.DONE, Outcome.WAITING} | ({Outcome.HELD} if again else set())
            assert published.outcome in wanted, published
            self.met["held again"] += published.outcome is Outcome.HELD
            self.note_placed()
