"""`tidemill forget`: what starts over, because a person says so."""

from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed
from tidemill.spec import pipeline
from tidemill.storage import root_identity


def forget(
    name: PipelineName, yes: Yes = False, dry_run: DryRun = False, json: Json = False
) -> None:
    """Let a pipeline whose folder is gone start over, with all its input.

    Examples:
      tidemill forget tides
    """
    screen = Screen(json)
    opened = pipeline.open_pipeline(name)
    plan = [f"let the next run of {name} read all its input, under a new generation"]
    for target in opened.spec.publish:
        if target.kind not in ("delta", "files"):
            plan.append(f"keep the rows of {target.name}: empty it first")
    if not agreed(screen, plan, dry_run=dry_run, yes=yes, pipeline=name):
        return
    known = root_identity.forget(opened.layout)
    screen.line(f"{name} is forgotten" if known else f"{name} was not known in this root")
    if json:
        screen.document({"pipeline": name, "known": known})
