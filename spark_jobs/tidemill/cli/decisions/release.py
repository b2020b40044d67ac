"""`tidemill release`: a person lets a held increment out."""

from typing import Annotated

from typer import Exit, Option

from tidemill.cli.decisions.options import By, HistoryReason, Increment, decider
from tidemill.cli.run import manual_run_id, perform_shown
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.decisions.release import release as decide
from tidemill.storage.run_context import RunContext

Publish = Annotated[bool, Option("--publish", help="Publish it now, not with the next run.")]


def release(
    name: PipelineName,
    increment: Increment,
    reason: HistoryReason,
    by: By = None,
    publish: Publish = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Let a held increment be published in spite of its verdict.

    Examples:
      tidemill release tides 3 --reason "the storm was real" --publish
    """
    screen = Screen(json)
    pipeline, run_id = open_pipeline(name), manual_run_id("release")
    if dry_run:
        from tidemill.steps.decisions.planned import planned

        asked = RunRequest(role="release", increment=increment, by=decider(by), reason=reason)
        show_dry_run(screen, planned(pipeline, asked), pipeline=name)
        return
    decision = decide(pipeline, increment, by=decider(by), reason=reason, run_id=run_id)
    screen.line(f"increment {increment:06d} is released by {decision.by}")
    document = {"pipeline": name, "run_id": run_id, "release": decision.model_dump(mode="json")}
    if not publish:
        screen.line(f"the next run publishes it: tidemill run {name} (with --publish at once)")
        if json:
            screen.document({**document, "publish": None})
        return
    report = perform_shown("publish", RunContext(pipeline, run_id, screen.line), screen)
    if json:
        screen.document({**document, "publish": report.model_dump(mode="json")})
    raise Exit(int(report.exit_code))
