"""`tidemill journal`: what goes out, in its order, and how an event is taken back."""

from datetime import tzinfo
from typing import Annotated, Any

from typer import Argument, Option, Typer

from tidemill.cli.decisions.options import By, decider
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.cli.zones import Utc, time_shown, zone_of
from tidemill.contract.layout import Layout
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Event, Journal, Withdrawal
from tidemill.spec.catalog import find
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.root import existing_root
from tidemill.storage.run_context import RunContext

journal = Typer(
    name="journal",
    help="Look at what goes out, and take back what no target can apply.",
    no_args_is_help=True,
)

COLUMNS = ("at", "event", "kind", "increment", "batches", "rows", "rejected", "targets", "said")

Number = Annotated[
    int, Argument(metavar="EVENT", min=1, help="Its number in the journal.", show_default=False)
]
Reason = Annotated[
    str, Option("--reason", help="Why; it stays beside the event.", show_default=False)
]
Limit = Annotated[int, Option("--limit", min=1, help="Most events to show.")]


@journal.command("show")
def show(
    name: PipelineName,
    limit: Limit = 20,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show the last events, which targets have them, and what was withdrawn.

    Examples:
      tidemill journal show tides --limit 5
    """
    screen = Screen(json, csv)
    find(name)
    found = Journal(Layout(existing_root(), name).journal)
    events = [*_events(found)][-limit:]
    if json:
        shown = [_as_json(found, *event) for event in events]
        screen.document({"pipeline": name, "events": shown})
    elif not events:
        screen.line(f"the journal of {name} is empty")
    else:
        zone = zone_of(name, utc)
        lines = (_line(found, *event, zone) for event in events)
        screen.table(f"{name}: the last events of the journal", COLUMNS, lines)


@journal.command("withdraw")
def withdraw(
    name: PipelineName,
    event: Number,
    reason: Reason,
    by: By = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Take back an event that no target has applied, and those that wait behind it.

    Its increment is held from then on: redo it, reject it, or release it after all.

    Examples:
      tidemill journal withdraw tides 7 --reason "the database refuses it"
    """
    from tidemill.steps.decisions.withdraw import events_from
    from tidemill.steps.decisions.withdraw import withdraw as take_back

    screen = Screen(json)
    if dry_run:
        found = events_from(Snapshot(open_pipeline(name).layout), event)
        plan = (
            f"withdraw event {one.seq}, of increment {one.increment:06d}, unless a target has it"
            for one in found
        )
        show_dry_run(screen, plan, pipeline=name)
        return
    run = RunContext(open_pipeline(name), manual_run_id("withdraw"), screen.line)
    done = take_back(run, event, by=decider(by), reason=reason)
    for one in done:
        screen.line(f"event {one.seq} is withdrawn: {one.reason}")
    screen.line(f"where that leaves its increment: tidemill status {name}")
    if json:
        withdrawn = [one.model_dump(mode="json") for one in done]
        screen.document({"pipeline": name, "withdrawn": withdrawn})


def _events(found: Journal) -> list[tuple[Event, Withdrawal | None]]:
    """Every event, withdrawn ones too, in the order of their numbers."""
    withdrawn = found.withdrawals()
    both = [*((event, None) for event in found.events()), *withdrawn]
    return sorted(both, key=lambda one: one[0].seq)


def _as_json(found: Journal, event: Event, withdrawal: Withdrawal | None) -> dict[str, Any]:
    return {
        "event": event.seq,
        "kind": event.kind,
        "increment": event.increment,
        "generation": event.generation,
        "batches": [event.first, event.last],
        "rows": event.rows,
        "rejected": event.rejected,
        "epoch": event.epoch,
        "at": event.at.isoformat(),
        "targets": found.targets_of(event.seq),
        "withdrawn": None if withdrawal is None else withdrawal.model_dump(mode="json"),
    }


def _line(
    found: Journal, event: Event, withdrawal: Withdrawal | None, zone: tzinfo
) -> tuple[object, ...]:
    return (
        time_shown(event.at, zone),
        event.seq,
        event.kind,
        event.increment,
        f"{event.first}-{event.last}",
        event.rows,
        event.rejected,
        ", ".join(found.targets_of(event.seq)),
        "" if withdrawal is None else _said(withdrawal),
    )


def _said(withdrawal: Withdrawal) -> str:
    by = f" by {withdrawal.by}" if withdrawal.by else ""
    return f"withdrawn{by}: {withdrawal.reason}"
