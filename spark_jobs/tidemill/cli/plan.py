"""`tidemill plan`: what has changed since the live generation was born, before anything runs."""

from typer import Exit

from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.compatibility.change import Verdict
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode
from tidemill.reporting.due import due_in_words
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.read_only.plan import Compared, Planned
from tidemill.steps.read_only.plan import plan as compare


def plan(name: PipelineName, json: Json = False, csv: Csv = False) -> None:
    """List what has changed in spec and code, and whether the pipeline may go on with it.

    Examples:
      tidemill plan tides
    """
    screen = Screen(json, csv)
    pipeline = open_pipeline(name)
    with screen.busy("comparing …"):
        planned = compare(pipeline)
    if json:
        screen.document(
            {
                "pipeline": name,
                "generation": planned.generation,
                "compared": planned.compared,
                "verdict": planned.verdict,
                "changes": [change.model_dump(mode="json") for change in planned.changes],
                "due": [due.model_dump(mode="json") for due in planned.due],
            }
        )
    else:
        _show(screen, planned)
        for due in planned.due:
            screen.line(f"{name}: {due_in_words(name, due)}")
    refused = planned.verdict is Verdict.NOT_ALLOWED
    raise Exit(int(ExitCode.REFUSED if refused else ExitCode.DONE))


def _show(screen: Screen, planned: Planned) -> None:
    born = f"{planned.generation} was born"
    if planned.compared is Compared.NOTHING:
        screen.line(f"{planned.pipeline} has never started: there is nothing to compare with")
        return
    if planned.compared is Compared.NOTE:
        screen.line(
            f"{born} before its spec and code were put down: of what has changed only this is known"
        )
    if not planned.changes:
        known = "that is known " if planned.compared is Compared.NOTE else ""
        screen.line(f"{planned.pipeline}: nothing {known}has changed since {born}")
        return
    rows = (
        (one.field, one.was, one.now, one.verdict, one.means, one.remedy) for one in planned.changes
    )
    columns = ("what", "was", "is", "verdict", "what it means", "what to do")
    title = f"{planned.pipeline}: {counted(len(planned.changes), 'change')} since {born}"
    screen.table(title, columns, rows)
