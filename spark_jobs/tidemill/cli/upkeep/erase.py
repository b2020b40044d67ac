"""`tidemill erase`: rows of persons leave a pipeline for good."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from typer import Option

from tidemill.cli.decisions.options import By, PipelineReason, decider
from tidemill.cli.run import keep_spark_log, manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.upkeep.options import Apply
from tidemill.cli.write_rule import show_dry_run
from tidemill.contract.counted import counted
from tidemill.spec.pipeline import open_pipeline
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from tidemill.steps.upkeep.erase.plan import ErasePlan

Where = Annotated[
    list[str],
    Option(
        "--where",
        metavar="CONDITION",
        help="The rows: columns of the table that equal values, joined by AND; may be repeated.",
        show_default=False,
    ),
]
Values = Annotated[
    list[str] | None,
    Option(
        "--value",
        metavar="TEXT",
        help="How the same person is written elsewhere: erased from rejected rows, documents and "
        "pages too; may be repeated.",
        show_default=False,
    ),
]


Sources = Annotated[
    list[str] | None,
    Option(
        "--source",
        metavar="NAME",
        help="The columns are those of this source, before the transform: all input is read again "
        "without such rows; may be repeated.",
        show_default=False,
    ),
]


def erase(
    name: PipelineName,
    where: Where,
    reason: PipelineReason = "",
    value: Values = None,
    source: Sources = None,
    release: Annotated[
        bool, Option("--release", help="Publish what was read again though the gate holds it.")
    ] = False,
    accept_loss: Annotated[
        bool,
        Option(
            "--accept-loss",
            help="Read again without what the sources no longer hold, or cannot be asked for: its "
            "rows leave the table too.",
        ),
    ] = False,
    by: By = None,
    apply: Apply = False,
    json: Json = False,
) -> None:
    """Erase rows of a person from all that is below the root, and never take them in again.

    Published, rejected and held rows go, samples and pages that show them, and older versions of
    the table. At the end every file is looked through; the exit code is 4 where one still holds
    such a row. Input files are yours: those that the rows were read from are named.

    A pipeline with state, or whose rows go into others, reads all its input again without the rows
    of a source, and what it had before is removed.

    Examples:
      tidemill erase tides --where "customer = 'C-17'"
      tidemill erase tides --where "customer = 'C-17'" --reason "a request" --apply
      tidemill erase totals --source orders --where "customer = 'C-17'"
    """
    from tidemill.steps.upkeep.erase.erase import erase as erase_step
    from tidemill.steps.upkeep.erase.of_sources import read_condition
    from tidemill.steps.upkeep.erase.plan import plan_erase

    screen, pipeline = Screen(json), open_pipeline(name)
    condition = read_condition(pipeline, where, value or (), source or ())
    if not apply:
        plan = plan_erase(pipeline, condition, accept_loss=accept_loss)
        show_dry_run(screen, [*plan.phrases(), *_left(plan)], **plan.as_dict())
        return
    run = RunContext(pipeline, manual_run_id("erase"), screen.problem)
    if condition.sources:
        keep_spark_log(run)
    done = erase_step(
        run, condition, by=decider(by), reason=reason, release=release, accept_loss=accept_loss
    )
    what = f"{counted(done.rows, 'row')} and {done.rejected:,} rejected ones are erased"
    if done.rebuilds:
        what = f"all input was read again without the rows of {', '.join(condition.sources)}"
    screen.line(f"{name}: {what}; no file below its folder holds such rows")
    for phrase in _left(done):
        screen.line(f"to do: {phrase}")
    if json:
        screen.document({**done.as_dict(), "applied": True})


def _left(plan: "ErasePlan") -> Iterator[str]:
    """What a person has to do."""
    for path in plan.inputs.there:
        yield f"look for the rows in {path}, which is not Tidemill's"
    if plan.inputs.gone:
        gone = counted(plan.inputs.gone, "input file")
        yield f"look for the rows in {gone} that they were read from, wherever these are now"
    if plan.versions:
        yield (
            f"delete the older versions of the objects below {plan.layout.home}, which the bucket "
            "keeps: they hold the rows"
        )
    for file in plan.unnamed:
        yield f"see that {file} goes: no snapshot names it, and a killed commit may have left it"
    for source in plan.origins:
        yield f"look for the rows in the input of {source}, which is not Tidemill's"
