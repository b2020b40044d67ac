"""`tidemill flush`: close windows, joins and timers up to an event time, though rows may come."""

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from typer import Option

from tidemill.cli.decisions.options import By, PipelineReason, decider
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.decisions.flush import flush as flush_step
from tidemill.steps.decisions.flush import flushed_batch

To = Annotated[
    datetime,
    Option("--to", help="The event time, in the spec's time zone.", show_default=False),
]


def flush(
    name: PipelineName,
    to: To,
    reason: PipelineReason,
    by: By = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Raise the watermark: what is open before that time closes with the next run.

    Examples:
      tidemill flush windowed_words --to "2026-03-01 13:00" --reason "the feed has ended" --yes
    """
    screen = Screen(json)
    pipeline = open_pipeline(name)
    there = to if to.tzinfo else to.replace(tzinfo=ZoneInfo(pipeline.spec.timezone))
    plan = [
        f"close what is open up to {there:%Y-%m-%d %H:%M:%S %Z} with batch "
        f"{flushed_batch(pipeline, there)}: rows before that time are late from then on"
    ]
    if not agreed(screen, plan, dry_run=dry_run, yes=yes, pipeline=name):
        return
    done = flush_step(
        pipeline,
        there,
        by=decider(by),
        reason=reason,
        run_id=manual_run_id("flush"),
    )
    screen.line(f"batch {done.batch} closes what is open up to {there:%Y-%m-%d %H:%M:%S %Z}")
    screen.line(f"the next run does it; at once: tidemill run {name}")
    if json:
        screen.document({"pipeline": name, "flush": done.model_dump(mode="json")})
