"""`tidemill accept-loss`: a person lets expired records of Kafka be passed over."""

from tidemill.cli.decisions.options import By, PipelineReason, decider
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed
from tidemill.contract.counted import counted
from tidemill.spec.pipeline import open_pipeline


def accept_loss(
    name: PipelineName,
    reason: PipelineReason,
    by: By = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Go on without Kafka records that expired before they were read.

    Examples:
      tidemill accept-loss tides_live --reason "the broker was full"
    """
    # Only this command needs a client of Kafka.
    from tidemill.steps.decisions.accept_loss import accept_losses, find_losses

    screen = Screen(json)
    pipeline = open_pipeline(name)
    found = find_losses(pipeline)
    plan = [
        f"pass over offsets {lost.first} to {lost.until - 1} of {lost.topic}-{lost.partition} in "
        f"sources.{one.source}: at most {counted(lost.records, 'record')}, gone for good"
        for one in found
        for lost in one.gone
    ]
    if not agreed(screen, plan, dry_run=dry_run, yes=yes, pipeline=name):
        return
    accepted = accept_losses(
        pipeline,
        found,
        by=decider(by),
        reason=reason,
        run_id=manual_run_id("accept-loss"),
    )
    for loss in accepted:
        screen.line(
            f"sources.{loss.source}: {counted(loss.records, 'record')} accepted by {loss.by}"
        )
    screen.line(f"the next run passes over them; at once: tidemill run {name}")
    if json:
        losses = [loss.model_dump(mode="json") for loss in accepted]
        screen.document({"pipeline": name, "accepted": losses})
