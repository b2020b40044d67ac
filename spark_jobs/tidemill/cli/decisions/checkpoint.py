"""`tidemill checkpoint`: Spark's own logs of a pipeline: shown, fixed or set back."""

from typing import Annotated

from typer import Argument, Option, Typer

from tidemill.cli.decisions.options import By, HistoryReason, PipelineReason, decider
from tidemill.cli.decisions.recompute import perform_request
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Csv, Json, PipelineName, Quantity, Screen
from tidemill.cli.upkeep.options import Apply
from tidemill.cli.write_rule import DryRun, Yes, agreed, show_dry_run
from tidemill.cli.zones import Utc, time_shown, zone_of
from tidemill.contract.clock import wall_clock
from tidemill.contract.counted import bytes_in_words, counted
from tidemill.contract.layout import Layout
from tidemill.generations.checkpoint_snapshot import read_snapshots
from tidemill.generations.repairs.plan import planned_repairs
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_request import RunRequest
from tidemill.reporting.checkpoint_batches import CheckpointBatch, read_checkpoint_batches
from tidemill.spec.catalog import find
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.root import existing_root
from tidemill.steps.decisions.repair_checkpoint import repair_checkpoint
from tidemill.storage.run_context import RunContext

checkpoint = Typer(
    name="checkpoint",
    help="Show Spark's batches, fix its logs after a power cut, or go back to an earlier run.",
    no_args_is_help=True,
)
Limit = Annotated[int, Option("--limit", min=1, help="Most batches to show, the newest.")]
QUANTITIES = ("files_read", "files_written", "rows_in", "rows", "rejected")
COLUMNS = ("batch", "state", "committed", "run_id", *QUANTITIES)
COLUMNS_OF_INCREMENT = ("increment", "verdict", "event", "offsets")


@checkpoint.command("show")
def show(
    name: PipelineName,
    limit: Limit = 20,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show each batch with its run, files, offsets and rows, and the increment that it became.

    Examples:
      tidemill checkpoint show tides
      tidemill checkpoint show tides --limit 1000 --csv
    """
    screen = Screen(json, csv)
    find(name)
    layout = Layout(existing_root(), name)
    found, snapshots = read_checkpoint_batches(layout, limit), read_snapshots(layout)
    if json:
        kept = [one.model_dump(mode="json") for one in snapshots]
        screen.document({"pipeline": name, **found.model_dump(mode="json"), "snapshots": kept})
        return
    if not found.batches and not csv:
        screen.line(f"{name}: Spark has planned no batch yet")
        return
    zone = zone_of(name, utc)
    before = f" after {found.goes_on_from}, from batch {found.first}" if found.goes_on_from else ""
    screen.table(
        f"{name}: {found.generation}{before}, planned up to batch {found.planned}, committed up to "
        f"{found.committed}, recorded up to {found.recorded}",
        (*COLUMNS, *COLUMNS_OF_INCREMENT),
        (
            (
                one.batch,
                one.state,
                one.committed and time_shown(one.committed, zone),
                one.run_id,
                *_quantities(one),
                *(getattr(one, column) for column in COLUMNS_OF_INCREMENT),
            )
            for one in found.batches
        ),
    )
    for one in () if csv else snapshots:
        taken = time_shown(one.taken, zone)
        screen.line(f"snapshot {one.number}: {one.generation} up to batch {one.batch}, {taken}")


def _quantities(one: CheckpointBatch) -> list[Quantity | None]:
    values = (getattr(one, column) for column in QUANTITIES)
    return [None if value is None else Quantity(value) for value in values]


@checkpoint.command("repair")
def repair(
    name: PipelineName, yes: Yes = False, dry_run: DryRun = False, json: Json = False
) -> None:
    """Write torn or lost entries again that the ledger knows, and let Spark redo the others.

    Torn or lost records of the ledger come first, as Spark's logs or a snapshot of the checkpoint
    tell them; what was sealed of them has to agree.

    Examples:
      tidemill checkpoint repair tides
    """
    screen, pipeline = Screen(json), open_pipeline(name)
    found = planned_repairs(pipeline)
    plan = [f"{one.action} {one.file}: {one.why}" for one in found]
    if not agreed(screen, plan, dry_run=dry_run, yes=yes, pipeline=name):
        return
    if not found:
        screen.line(
            f"{name}: no entry of Spark's logs and no record of the ledger is torn or missing"
        )
    else:
        found = repair_checkpoint(pipeline, found, manual_run_id("checkpoint-repair"))
        screen.line(f"done; to go on: tidemill run {name}")
    if json:
        repairs = [one.as_dict() for one in found]
        screen.document({"pipeline": name, "repairs": repairs, "repaired": bool(found)})


@checkpoint.command("rewind")
def rewind(
    name: PipelineName,
    to: Annotated[
        str, Option("--to", metavar="RUN", help="The run id of the last run that stays.")
    ],
    reason: HistoryReason,
    accept_loss: Annotated[
        bool, Option("--accept-loss", help="Go on without what the sources no longer hold.")
    ] = False,
    by: By = None,
    apply: Apply = False,
    json: Json = False,
) -> None:
    """Go back to the end of a run: checkpoint, sink log and every target, with one event.

    The next run reads again what was read after it. `checkpoint show` lists the runs.

    Examples:
      tidemill checkpoint rewind tides --to manual__2026-03-01 --reason "a bad release"
      tidemill checkpoint rewind tides --to manual__2026-03-01 --reason "a bad release" --apply
    """
    from tidemill.steps.decisions.rewind import plan_rewind

    pipeline = open_pipeline(name)
    request = RunRequest(
        role="rewind",
        back_to=to,
        accept_loss=accept_loss,
        by=decider(by),
        reason=reason,
        asked=wall_clock(),
    )
    if apply:
        perform_request(pipeline, request, json)
    plan = plan_rewind(pipeline, Snapshot(pipeline.layout), request)
    show_dry_run(Screen(json), plan.phrases(), pipeline=name)


@checkpoint.command("snapshot")
def snapshot(name: PipelineName, by: By = None, apply: Apply = False, json: Json = False) -> None:
    """Keep checkpoint and sink log as they are now, to restore or to rewind to.

    Examples:
      tidemill checkpoint snapshot tides --apply
    """
    from tidemill.steps.decisions.snapshot import keep_snapshot, plan_snapshot

    screen, pipeline = Screen(json), open_pipeline(name)
    if not apply:
        plan = plan_snapshot(pipeline)
        size = f"{counted(plan.files, 'file')}, {bytes_in_words(plan.bytes)}"
        show_dry_run(
            screen, [f"keep {plan.generation} up to batch {plan.batch}: {size}"], pipeline=name
        )
        return
    run = RunContext(pipeline, manual_run_id("snapshot"), screen.line)
    taken = keep_snapshot(run, decider(by))
    screen.line(f"{name}: snapshot {taken.number} of {taken.generation} up to batch {taken.batch}")
    if json:
        screen.document({"pipeline": name, "snapshot": taken.model_dump(mode="json")})


@checkpoint.command("restore")
def restore(
    name: PipelineName,
    number: Annotated[
        int, Argument(metavar="SNAPSHOT", min=1, help="Its number.", show_default=False)
    ],
    reason: PipelineReason,
    by: By = None,
    apply: Apply = False,
    json: Json = False,
) -> None:
    """Go on from a snapshot, where nothing was published since it was taken.

    Examples:
      tidemill checkpoint restore tides 3 --reason "the disk lost the state" --apply
    """
    from tidemill.steps.decisions.restore import plan_restore
    from tidemill.steps.decisions.restore import restore as restore_snapshot

    screen, pipeline = Screen(json), open_pipeline(name)
    if not apply:
        plan = plan_restore(pipeline, number, Snapshot(pipeline.layout))
        show_dry_run(screen, plan.phrases(), pipeline=name)
        return
    run = RunContext(pipeline, manual_run_id("restore"), screen.line)
    found = restore_snapshot(run, number, by=decider(by), reason=reason)
    screen.line(f"{name}: {found.generation} goes on from batch {found.first}: tidemill run {name}")
    if json:
        screen.document({"pipeline": name, "takeover": found.model_dump(mode="json")})


@checkpoint.command("fork")
def fork(
    name: PipelineName,
    other: Annotated[str, Option("--as", metavar="OTHER", help="The name of the new pipeline.")],
    reason: PipelineReason,
    at: Annotated[
        str | None,
        Option("--at", metavar="RUN", help="Go on after this run, not after the last published."),
    ] = None,
    by: By = None,
    apply: Apply = False,
    json: Json = False,
) -> None:
    """Try new code on a pipeline's state: a new pipeline goes on from there, with its own table.

    Spec, transform and suite are copied where the new pipeline has none. The pipeline itself is
    only read.

    Examples:
      tidemill checkpoint fork tides --as tides_trial --reason "the new filter"
      tidemill checkpoint fork tides --as tides_trial --reason "the new filter" --apply
    """
    from tidemill.steps.decisions.named_fork import named_fork
    from tidemill.steps.decisions.named_fork_plan import plan_named_fork

    screen, pipeline = Screen(json), open_pipeline(name)
    if not apply:
        plan = plan_named_fork(pipeline, other, at)
        show_dry_run(screen, [*plan.phrases()], pipeline=name, fork=other)
        return
    run = RunContext(pipeline, manual_run_id("checkpoint-fork"), screen.line)
    plan = named_fork(run, other, at, by=decider(by), reason=reason)
    for path in plan.files:
        screen.line(f"wrote {path}")
    screen.line(f"{other} goes on from batch {plan.first} of {name}: tidemill run {other}")
    if json:
        screen.document(
            {
                "pipeline": name,
                "fork": other,
                "generation": plan.generation,
                "first": plan.first,
                "files": [str(path) for path in plan.files],
            }
        )
