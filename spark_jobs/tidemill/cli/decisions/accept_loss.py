"""`tidemill accept-loss`: a person lets expired records of Kafka be passed over."""

from typer import confirm

from tidemill.cli.decisions.options import By, PipelineReason, Yes, decider
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.contract.counted import counted
from tidemill.spec.pipeline import open_pipeline


def accept_loss(
    name: PipelineName, reason: PipelineReason, by: By = None, yes: Yes = False, json: Json = False
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
    rows = [
        (one.source, lost.topic, lost.partition, lost.first, lost.until - 1, lost.records)
        for one in found
        for lost in one.gone
    ]
    columns = ("source", "topic", "partition", "first offset", "last offset", "records at most")
    screen.table("gone for good", columns, rows)
    if not yes:
        confirm("Publish without them?", abort=True, err=True)
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
