"""`tidemill checkpoint`: Spark's own logs of a pipeline, after a power cut."""

from typer import Typer

from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed
from tidemill.generations.repairs.plan import planned_repairs
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.decisions.repair_checkpoint import repair_checkpoint

checkpoint = Typer(
    name="checkpoint", help="Fix Spark's own logs after a power cut.", no_args_is_help=True
)


@checkpoint.callback()
def _group() -> None:
    """A group, although it has one command only."""


@checkpoint.command("repair")
def repair(
    name: PipelineName, yes: Yes = False, dry_run: DryRun = False, json: Json = False
) -> None:
    """Write torn or lost entries again that the ledger knows, and let Spark redo the others.

    Examples:
      tidemill checkpoint repair tides
    """
    screen, pipeline = Screen(json), open_pipeline(name)
    found = planned_repairs(pipeline)
    plan = [f"{one.action} {one.file}: {one.why}" for one in found]
    if not agreed(screen, plan, dry_run=dry_run, yes=yes, pipeline=name):
        return
    if not found:
        screen.line(f"{name}: no entry of Spark's logs is torn or missing")
    else:
        found = repair_checkpoint(pipeline, found, manual_run_id("checkpoint-repair"))
        screen.line(f"done; to go on: tidemill run {name}")
    if json:
        repairs = [one.as_dict() for one in found]
        screen.document({"pipeline": name, "repairs": repairs, "repaired": bool(found)})
