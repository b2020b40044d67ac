"""Computes a status document: from the history, and from the reports of steps."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidemill.contract.report import Outcome, Report
from tidemill.increments.increment import Increment, State
from tidemill.increments.recent_snapshot import RecentSnapshot
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Applied, Event
from tidemill.ledger.ledger import Ledger
from tidemill.reporting.status_document import (
    DAYS,
    About,
    DayRows,
    HeldIncrement,
    LastPublished,
    LastRun,
    SourceBacklog,
    StatusDocument,
    TableRead,
)
from tidemill.spec.effective import stamp_of
from tidemill.spec.spec import Spec

# Reasons of a held increment that a list shows; its page shows all.
REASONS = 3


def about_spec(name: str, spec: Spec, path: Path) -> About:
    """What a document says of a pipeline's spec."""
    expect = spec.expect
    return About(
        dag_id=spec.group or name,
        owner=spec.airflow.owner,
        tags=spec.airflow.tags,
        description=spec.description_line,
        targets=tuple(target.name for target in spec.publish) if spec.published else (),
        expect_seconds=None if expect is None else (expect.every + expect.grace).total_seconds(),
        tables_read=tuple(
            TableRead(pipeline=read, input=field) for field, read in spec.tables_read.items()
        ),
        spec_time=stamp_of(path),
    )


def with_history(status: StatusDocument, snapshot: Snapshot, epoch: int) -> StatusDocument:
    """A document with what the history says.

    Costs what was published since the document was written, not the whole history, as long as the
    snapshot's increments are read already.

    Args:
        status: The document before, which may be an empty one.
        epoch: The newest epoch of the lease whose writes the snapshot holds.
    """
    known = status if _goes_on(status, snapshot) else _forget(status)
    if isinstance(snapshot, RecentSnapshot) and known.counted < snapshot.settled.seq:
        snapshot = Snapshot(snapshot.layout)
    news = snapshot.journal.published(after=known.counted)
    done = [(event, news[event.seq]) for event in snapshot.events if event.seq in news]
    counted = max((event.seq for event, _ in done), default=known.counted)
    visible = {event.increment for event in snapshot.events if event.seq <= counted}
    open_ones = [
        one for one in snapshot.increments if one.number not in visible and not one.state.closed
    ]
    generation = snapshot.generation
    sealed = snapshot.last_sealed(generation)
    latest = Ledger(snapshot.layout, generation).latest(sealed if sealed >= 0 else None)
    gated = bool(status.about.targets)
    behind = {name: len(snapshot.journal.behind(name)) for name in status.about.targets}
    return known.model_copy(
        update={
            "epoch": epoch,
            "counted": counted,
            "published": _last_published(done) or known.published,
            "days": _days(known.days, done),
            "held": tuple(_held(snapshot, open_ones)),
            "unpublished": len(open_ones),
            "unsealed": latest - sealed if gated else 0,
            "lagging": {name: lag for name, lag in behind.items() if lag},
            "ran": latest >= 0 or bool(snapshot.increments),
        }
    )


def with_report(status: StatusDocument, report: Report) -> StatusDocument:
    """A document with the outcome of a step, and with what it found at the sources."""
    facts = report.facts
    update: dict[str, Any] = {"last_run": LastRun.of(report)}
    if report.step == "doctor" and "sources" in facts:
        arrived = facts.get("arrived", {})
        found = facts["sources"].items()
        update["sources"] = tuple(_backlog(name, look, arrived.get(name)) for name, look in found)
        update["looked"] = report.finished
    elif report.step == "ingest" and report.outcome is Outcome.DONE and "left" in facts:
        update["sources"] = tuple(_after_ingest(one, report) for one in status.sources)
        update["looked"] = report.finished
    return status.model_copy(update=update)


def _goes_on(status: StatusDocument, snapshot: Snapshot) -> bool:
    """Whether the journal still has what the document counted."""
    counted = status.counted
    return counted == 0 or snapshot.journal.event(counted) is not None


def _forget(status: StatusDocument) -> StatusDocument:
    return status.model_copy(update={"published": None, "counted": 0, "days": ()})


def _last_published(done: Iterable[tuple[Event, Applied]]) -> LastPublished | None:
    found = [(event, applied) for event, applied in done if event.kind != "reject"]
    if not found:
        return None
    event, applied = found[-1]
    return LastPublished(increment=event.increment, version=applied.version, at=applied.at)


def _days(known: Iterable[DayRows], done: Iterable[tuple[Event, Applied]]) -> tuple[DayRows, ...]:
    """The rows of each day; rows that were computed again are not counted a second time."""
    days = {one.day: one for one in known}
    for event, applied in done:
        if event.kind == "increment":
            day = applied.at.astimezone(UTC).date()
            before = days.get(day) or DayRows(day=day, rows=0, rejected=0)
            rows, rejected = before.rows + event.rows, before.rejected + event.rejected
            days[day] = DayRows(day=day, rows=rows, rejected=rejected)
    return tuple(days[day] for day in sorted(days)[-DAYS:])


def _held(snapshot: Snapshot, open_ones: Iterable[Increment]) -> Iterable[HeldIncrement]:
    waiting = [one.number for one in snapshot.waiting()]
    for one in open_ones:
        verdict = one.verdict
        if one.state is State.HELD and verdict is not None:
            first = bool(waiting) and waiting[0] == one.number
            yield HeldIncrement(
                increment=one.number,
                since=verdict.judged,
                rows=one.sealed.rows,
                rejected=one.sealed.rejected,
                reasons=verdict.reasons[:REASONS],
                behind_it=len(waiting) - 1 if first else 0,
                run_id=one.sealed.run_id,
            )


def _backlog(name: str, look: Mapping[str, Any], arrived: str | None) -> SourceBacklog:
    return SourceBacklog(
        source=name,
        new=look.get("new"),
        unit=look.get("unit", ""),
        bytes=look.get("bytes"),
        oldest=_time(look.get("oldest_new")),
        arrived=_time(arrived),
        problems=tuple(one["code"] for one in look.get("problems", ())),
    )


def _after_ingest(before: SourceBacklog, report: Report) -> SourceBacklog:
    """What waits after an ingest: nothing of what was there before it, unless it was stopped."""
    if before.new is None:
        return before
    left = report.facts["left"].get(before.source, {"new": 0, "bytes": 0})
    took_in = before.new and report.facts.get("batches")
    return before.model_copy(
        update={
            "new": left["new"],
            "bytes": left["bytes"],
            "oldest": before.oldest if left["new"] else None,
            "arrived": report.finished if took_in else before.arrived,
        }
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
