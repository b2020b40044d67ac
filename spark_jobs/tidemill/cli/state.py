"""`tidemill state`: what a pipeline keeps between its batches."""

from dataclasses import asdict
from typing import Annotated

from typer import Option, Typer

from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.contract.layout import Layout
from tidemill.journal.takeovers import current
from tidemill.spark_logs.state_metadata import state_operators
from tidemill.spec.catalog import find
from tidemill.spec.root import existing_root

state = Typer(
    name="state", help="Look at what a pipeline keeps between its batches.", no_args_is_help=True
)

Operator = Annotated[
    int | None, Option("--operator", min=0, help="Its number.", show_default="all")
]
Limit = Annotated[int, Option("--limit", min=1, help="Most rows to show of each part.")]


@state.command("list")
def list_operators(name: PipelineName, json: Json = False, csv: Csv = False) -> None:
    """List the operators that keep state, with their numbers.

    Examples:
      tidemill state list windowed_words
    """
    screen = Screen(json, csv)
    find(name)
    layout = Layout(existing_root(), name)
    found = state_operators(layout, current(layout))
    if json:
        operators = [one.model_dump(mode="json") for one in found]
        screen.document({"pipeline": name, "operators": operators})
    elif not found:
        screen.line(f"{name} keeps no state")
    else:
        screen.table(
            "",
            ("operator", "name", "partitions", "stores", "variables"),
            (
                (
                    one.operator,
                    one.name,
                    one.partitions,
                    ", ".join(one.stores),
                    ", ".join(f"{variable.name} ({variable.kind})" for variable in one.variables),
                )
                for one in found
            ),
        )


@state.command("show")
def show(
    name: PipelineName,
    operator: Operator = None,
    limit: Limit = 20,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show the keys and values that the operators keep after the last batch.

    Examples:
      tidemill state show windowed_words --limit 3
    """
    from tidemill.steps.read_only.state import show_state

    screen = Screen(json, csv)
    with screen.busy("state …"):
        found = show_state(name, operator, limit)
    if json:
        screen.document({"pipeline": name, "state": [asdict(part) for part in found]})
        return
    if csv:
        columns = tuple(dict.fromkeys(column for part in found for column in part.columns))
        screen.table(
            "",
            ("operator", "operator name", "part", *columns),
            (
                (part.operator, part.name, part.part, *(row.get(column) for column in columns))
                for part in found
                for row in part.rows
            ),
        )
        return
    for part in found:
        title = f"operator {part.operator}, {part.name}{f', {part.part}' if part.part else ''}"
        if part.rows:
            rows = ([row[column] for column in part.columns] for row in part.rows)
            screen.table(title, part.columns, rows)
        else:
            screen.line(f"{title}: nothing")
