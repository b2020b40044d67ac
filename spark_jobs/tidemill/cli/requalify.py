"""`tidemill requalify`: the published rows, judged again by today's suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option

from tidemill.cli.decisions.options import By
from tidemill.cli.decisions.recompute import ask_for_partitions
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Csv, Json, PipelineName, Quantity, Screen
from tidemill.cli.write_rule import DryRun
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.spec.pipeline import open_pipeline
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from tidemill.steps.read_only.requalify import Requalification

Backfill = Annotated[
    bool, Option("--backfill", help="Compute the partitions again whose rows fail.")
]
Reason = Annotated[str, Option("--reason", help="Why the backfill runs; for the table's history.")]


def requalify(
    name: PipelineName,
    backfill: Backfill = False,
    reason: Reason = "failed today's suite",
    by: By = None,
    dry_run: DryRun = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Judge published rows by today's suite; takes in nothing, takes back nothing.

    Examples:
      tidemill requalify tides
      tidemill requalify tides --backfill
    """
    from tidemill.steps.read_only.requalify import requalify as judge_again

    if csv and backfill:
        raise UsageError("--csv and --backfill exclude each other.", remedy="Give one of them.")
    screen, pipeline = Screen(json, csv), open_pipeline(name)
    run = RunContext(pipeline, manual_run_id("requalify"), screen.line)
    with screen.busy("requalify …"):
        report = judge_again(run)
    if backfill and report.failed:
        wanted = [partition for one in report.failed for partition in one.partitions]
        ask_for_partitions(pipeline, wanted, by=by, reason=reason, json=json, dry_run=dry_run)
    if json:
        screen.document(report.model_dump(mode="json"))
    else:
        _show(report, screen)
    raise Exit(int(ExitCode.HELD if report.failed else ExitCode.DONE))


def _show(report: Requalification, screen: Screen) -> None:
    lines = (
        (
            "rewritten" if one.increment is None else f"{one.increment:06d}",
            Quantity(one.rows),
            len(one.partitions) or None,
            one.outcome,
            "; ".join(one.reasons),
            "; ".join(one.warnings),
        )
        for one in report.found
    )
    columns = ("increment", "rows", "partitions", "outcome", "reasons", "warnings")
    screen.table(f"version {report.version} by suite {report.suite}", columns, lines)
    if report.failed:
        screen.line(f"to compute them again: tidemill requalify {report.pipeline} --backfill")
