"""`tidemill plan`: what has changed since the live generation was born, before anything runs."""

from typing import Annotated, Literal

from typer import Argument, Exit, Option

from tidemill.cli.completion import pipelines
from tidemill.cli.project import against as shown
from tidemill.cli.screen import Csv, Json, Screen
from tidemill.compatibility.change import Verdict
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.reporting.due import due_in_words
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.read_only.against.compare import compare_with
from tidemill.steps.read_only.plan import Compared, Planned
from tidemill.steps.read_only.plan import plan as compare

Name = Annotated[
    str | None,
    Argument(metavar="NAME", help="The pipeline; with --against all.", autocompletion=pipelines),
]
Against = Annotated[
    str | None,
    Option(
        "--against",
        metavar="REF",
        help="Compare your projects with a commit, branch or tag of git instead; needs no root.",
        show_default=False,
    ),
]
Format = Annotated[
    Literal["text", "markdown"],
    Option("--format", help="As a table, or for a pull request; with --against."),
]


def plan(
    name: Name = None,
    against: Against = None,
    format: Format = "text",
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List what has changed in spec and code, and whether the pipeline may go on with it.

    Examples:
      tidemill plan tides
      tidemill plan --against origin/main --format markdown
    """
    screen = Screen(json, csv)
    if against is not None:
        _against(against, name, screen, markdown=format == "markdown")
        return
    if name is None:
        raise UsageError(
            "A pipeline is missing, or --against.",
            remedy="Name a pipeline, or a state of git behind --against.",
        )
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
                "given_up": pipeline.spec.given_up,
            }
        )
    else:
        _show(screen, planned)
        for due in planned.due:
            screen.line(f"{name}: {due_in_words(name, due)}")
        if pipeline.spec.given_up is not None:
            screen.line(f"{name}: {pipeline.spec.given_up}")
    refused = planned.verdict is Verdict.NOT_ALLOWED
    raise Exit(int(ExitCode.REFUSED if refused else ExitCode.DONE))


def _against(ref: str, name: str | None, screen: Screen, *, markdown: bool) -> None:
    touched = [one for one in compare_with(ref) if name in (None, one.pipeline)]
    if screen.as_json:
        screen.document(shown.as_document(ref, touched))
    elif markdown:
        for line in shown.markdown(ref, touched):
            screen.line(line)
    else:
        shown.show(screen, ref, touched)
    refused = any(one.verdict is Verdict.NOT_ALLOWED for one in touched)
    unreadable = any(one.fate == "unreadable" for one in touched)
    raise Exit(
        int(ExitCode.USAGE if unreadable else ExitCode.REFUSED if refused else ExitCode.DONE)
    )


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
