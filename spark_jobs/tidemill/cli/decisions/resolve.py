"""`tidemill resolve`: the held increment, what may be decided about it, and the decision."""

import sys

from typer import Exit, prompt

from tidemill.cli.decisions.options import By
from tidemill.cli.decisions.recompute import redo, reject
from tidemill.cli.decisions.release import release
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.status import state_of
from tidemill.cli.write_rule import DryRun
from tidemill.cli.zones import Utc, zone_of
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode
from tidemill.increments.rejected_rows import reasons_counted
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.status import read_increments
from tidemill.reporting.choices import Choice
from tidemill.reporting.incident import Incident, read_incident
from tidemill.spec.pipeline import Pipeline, open_pipeline

INPUTS_SHOWN = 5


def resolve(
    name: PipelineName,
    by: By = None,
    dry_run: DryRun = False,
    utc: Utc = False,
    json: Json = False,
) -> None:
    """Show the held increment and what may be decided; in a terminal, ask and do it.

    With --dry-run, or outside of a terminal, it only shows. Exit code 3 as long as something is
    held.

    Examples:
      tidemill resolve tides
      tidemill resolve tides --json
    """
    screen, pipeline = Screen(json), open_pipeline(name)
    incident = _incident(pipeline)
    if json:
        screen.document(_document(name, incident))
    elif incident is None:
        screen.line(f"{name}: nothing is held")
    else:
        _show(incident, screen, utc=utc)
        if not dry_run and sys.stdin.isatty() and sys.stdout.isatty():
            _ask(incident, by)
            return
    raise Exit(int(ExitCode.DONE if incident is None else ExitCode.HELD))


def _incident(pipeline: Pipeline) -> Incident | None:
    """The oldest held increment: what is behind it waits for it."""
    found = read_increments(Snapshot(pipeline.layout))
    held = [one.increment for one in found if one.state == "held"]
    return read_incident(pipeline.layout, held[0], pipeline.spec.gate) if held else None


def _document(name: str, incident: Incident | None) -> dict[str, object]:
    if incident is None:
        return {"pipeline": name, "incident": None, "commands": []}
    commands = [_command(incident, choice) for choice in incident.choices]
    shown = incident.model_dump(mode="json")
    return {"pipeline": name, "incident": shown, "commands": commands}


def _command(incident: Incident, choice: Choice) -> str:
    number = f" {incident.increment.increment}" if choice.takes_increment else ""
    return f"tidemill {choice.action} {incident.pipeline}{number} --reason TEXT"


def _show(incident: Incident, screen: Screen, *, utc: bool) -> None:
    one = incident.increment
    screen.line(f"increment {one.increment:06d}, {state_of(one, zone_of(incident.pipeline, utc))}")
    for reason in one.reasons:
        screen.line(f"held because: {reason}")
    screen.line(f"{counted(one.rows, 'good row')}, {one.rejected:,} rejected")
    if incident.rejected_by_reason:
        screen.line(f"rejected: {reasons_counted(incident.rejected_by_reason)}")
    for file in incident.inputs[:INPUTS_SHOWN]:
        screen.line(f"read: {file.path}")
    if incident.files > INPUTS_SHOWN:
        screen.line(f"read: {counted(incident.files - INPUTS_SHOWN, 'more file')}")
    if incident.waiting:
        screen.line(f"behind it: {counted(len(incident.waiting), 'increment')}")
    more = f"--increment {one.increment}"
    screen.line(f"its rows: tidemill rows {incident.pipeline} {more} (--rejected)")
    screen.line("")
    for number, choice in enumerate(incident.choices, 1):
        screen.line(f"{number}  {choice.action}: {choice.consequence}")
        screen.line(f"   {_command(incident, choice)}")


def _ask(incident: Incident, by: str | None) -> None:
    """Ask for a decision and its reason, and carry it out.

    Leaves as the command of that decision does; held where there is none yet.
    """
    screen = Screen()
    screen.line("0  decide later")
    picked = -1
    while not 0 <= picked <= len(incident.choices):
        picked = prompt("Which one?", default=0, type=int)
    if picked == 0:
        raise Exit(int(ExitCode.HELD))
    choice, name = incident.choices[picked - 1], incident.pipeline
    number = incident.increment.increment
    files = _files(choice)
    reason = prompt("Why? It goes into the table's history")
    if choice.action == "release":
        release(name, number, reason, by=by)
    elif choice.action == "reject":
        reject(name, number, reason, by=by)
    else:
        redo(name, reason, exclude=files, by=by)


def _files(choice: Choice) -> list[str]:
    """The input files to leave out, one at a time until an empty answer."""
    files: list[str] = []
    while choice.may_exclude:
        file = prompt("A file to leave out (empty: no more)", default="", show_default=False)
        if not file:
            break
        files.append(file)
    return files
