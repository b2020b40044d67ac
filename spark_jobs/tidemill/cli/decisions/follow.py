"""`tidemill follow`: computes again what is due since a table upstream was computed again."""

from tidemill.cli.decisions.options import By, HistoryReason
from tidemill.cli.decisions.recompute import ask_for_partitions
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.decisions.follow import due_now, named


def follow(
    name: PipelineName,
    dry_run: DryRun = False,
    reason: HistoryReason = "rows upstream were computed again",
    by: By = None,
    json: Json = False,
) -> None:
    """Compute again what is due since a table upstream was computed again.

    Examples:
      tidemill follow tides_daily --dry-run
      tidemill follow tides_daily --reason "orders of March were corrected"
    """
    pipeline = open_pipeline(name)
    due, partitions = due_now(pipeline)
    if partitions is not None:
        ask_for_partitions(
            pipeline, named(partitions), by=by, reason=reason, json=json, dry_run=dry_run
        )
    screen = Screen(json)
    if json:
        found = [one.model_dump(mode="json") for one in due]
        screen.document({"pipeline": name, "outcome": "skipped", "due": found, "reports": []})
    for one in due:
        screen.line(f"{name}: {one}")
    if not due:
        screen.line(f"{name}: nothing is due")
