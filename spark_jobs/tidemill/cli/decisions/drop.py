"""`tidemill drop`: a pipeline that is not to go on, or that is to start over."""

from collections.abc import Iterator
from typing import Annotated

from typer import Option

from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed
from tidemill.contract.layout import Layout
from tidemill.spec.root import existing_root
from tidemill.steps.decisions.drop import DropPlan, plan_drop
from tidemill.steps.decisions.drop import drop as drop_step

Table = Annotated[
    bool,
    Option("--table", help="The published table and the rejected rows too, to start over."),
]


def drop(
    name: PipelineName,
    table: Table = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Remove a pipeline's checkpoint, ledger and documents; its published table stays.

    With --table everything below the root goes, and so does the table's name in a Hive metastore.
    The next run then starts over with all its input. Spec, transform, suite and input stay, and so
    do rows in databases and topics.

    Examples:
      tidemill drop tides --dry-run
      tidemill drop tides --table --yes
    """
    screen = Screen(json)
    layout = Layout(existing_root(), name)
    plan = plan_drop(layout, table=table)
    if not agreed(screen, _steps(name, plan), dry_run=dry_run, yes=yes, pipeline=name):
        return
    run_id = manual_run_id("drop")
    going = drop_step(layout, table=table, run_id=run_id, catalog=plan.catalog)
    removed = [str(path) for path in going]
    screen.line(f"{name} is dropped")
    if json:
        screen.document(
            {
                "pipeline": name,
                "removed": removed,
                "kept": [str(path) for path in plan.keeps],
                "targets": plan.targets,
                "unregistered": plan.catalog.table if plan.catalog else None,
                "starts_over": plan.starts_over,
            }
        )


def _steps(name: str, plan: DropPlan) -> Iterator[str]:
    if plan.catalog is not None:
        yield f"remove the name {plan.catalog.table} from the Hive metastore"
    for path in plan.removes:
        yield f"remove {path}"
    for path in plan.keeps:
        yield f"keep {path}; --table removes it too"
    for target in plan.targets:
        yield f"keep the rows of {target}: empty it yourself before {name} starts over"
    for reader in plan.readers:
        yield f"leave {reader} without this table, which it reads"
    if not plan.starts_over:
        yield f"refuse runs of {name} until its table is dropped too"
    elif plan.spec is not None:
        yield f"let the next run start over from {plan.spec}: remove it if there is to be none"
    else:
        yield f"free the name {name}"
