"""`tidemill target repair`: a target that lost what it had gets it again."""

from typing import Annotated

from typer import Argument, Typer

from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed
from tidemill.spec.pipeline import open_pipeline

TargetName = Annotated[
    str,
    Argument(
        metavar="TARGET",
        help="As the doctor names it, such as delta; or rejected, for the rejected table.",
        show_default=False,
    ),
]

target = Typer(name="target", help="Fix a target that was set back.", no_args_is_help=True)


@target.callback()
def _group() -> None: ...


@target.command()
def repair(
    name: PipelineName,
    target: TargetName,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Apply again what a target had applied and lost; says first what it will do.

    Examples:
      tidemill target repair tides delta
    """
    from tidemill.steps.decisions.repair_target import plan_repair, repair_target

    screen, pipeline = Screen(json), open_pipeline(name)
    found = plan_repair(pipeline, target)
    screen.line(found.problem or f"{target} is where the journal says it is; nothing is to be done")
    plan = [] if found.problem is None else [*found.steps]
    if not agreed(screen, plan, dry_run=dry_run, yes=yes, pipeline=name, target=target):
        return
    if found.problem is not None:
        found = repair_target(pipeline, target, manual_run_id("repair"), screen.line)
        screen.line(f"the next run goes on; at once: tidemill run {name}")
    if json:
        screen.document(
            {
                "pipeline": name,
                "target": target,
                "problem": found.problem,
                "steps": [*found.steps],
                "events": list(found.events),
            }
        )
