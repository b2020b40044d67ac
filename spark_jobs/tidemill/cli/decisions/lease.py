"""`tidemill lease`: who writes to a pipeline, and a lease that was lost or set back."""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from typer import Typer

from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed
from tidemill.cli.zones import Utc, time_shown, zone_of
from tidemill.spec.pipeline import open_pipeline

if TYPE_CHECKING:
    from tidemill.steps.decisions.repair_lease import LeaseState

lease = Typer(
    name="lease", help="Look at who writes to a pipeline, and fix its lease.", no_args_is_help=True
)


@lease.command("show")
def show(name: PipelineName, utc: Utc = False, json: Json = False) -> None:
    """Show the newest epoch, who holds it, and which epochs have written to the targets.

    Examples:
      tidemill lease show tides
    """
    from tidemill.steps.decisions.repair_lease import look_at_lease

    screen = Screen(json)
    found = look_at_lease(open_pipeline(name))
    if json:
        screen.document(_document(found))
        return
    screen.line(f"epoch {found.epoch}, {_holder(found, zone_of(name, utc))}")
    for fence in found.fences:
        screen.line(f"  {fence.where} was written under epoch {fence.epoch}")
    if found.set_back is not None:
        screen.line(f"it was lost or set back: tidemill lease repair {name}")


@lease.command("repair")
def repair(
    name: PipelineName, yes: Yes = False, dry_run: DryRun = False, json: Json = False
) -> None:
    """Let a lease that was lost or set back go on after every epoch that has written.

    Examples:
      tidemill lease repair tides
    """
    from tidemill.steps.decisions.repair_lease import look_at_lease, repair_lease

    screen, pipeline = Screen(json), open_pipeline(name)
    found = look_at_lease(pipeline)
    fence = found.set_back
    plan = (
        []
        if fence is None
        else [
            f"use up the epochs after {found.epoch} up to {fence.epoch}, under which {fence.where} "
            "was written; no row is touched"
        ]
    )
    if not agreed(screen, plan, dry_run=dry_run, yes=yes, pipeline=name):
        return
    if fence is None:
        screen.line(f"epoch {found.epoch} is as new as all that was written: nothing to repair")
    else:
        found = repair_lease(pipeline, found, manual_run_id("lease-repair"))
        screen.line(f"the next writer takes epoch {found.epoch + 1}")
    if json:
        screen.document({**_document(found), "repaired": fence is not None})


def _document(found: LeaseState) -> dict[str, object]:
    return {**found.model_dump(mode="json"), "set_back": found.set_back is not None}


def _holder(found: LeaseState, zone: tzinfo) -> str:
    if found.holder is None:
        return "which is free"
    process, since = found.holder.process, found.holder.since
    state = {True: "alive", False: "gone", None: "on another machine"}[found.alive]
    return (
        f"held by {found.holder.step} of run {found.holder.run_id} since "
        f"{time_shown(since, zone)} (process {process.pid} on {process.host}, {state})"
    )
