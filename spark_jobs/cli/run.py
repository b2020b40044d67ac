"""`tidemill run`: the four steps in order, in this process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, get_args

from typer import Exit, Option

from spark_jobs.cli.screen import Json, PipelineName, Screen
from spark_jobs.contract.errors import ExitCode
from spark_jobs.contract.pipeline import open_pipeline
from spark_jobs.contract.report import Outcome, Report, Step
from spark_jobs.contract.spec import Spec
from spark_jobs.main import sentence, step_function
from spark_jobs.steps.step import Run, perform

RunId = Annotated[
    str | None,
    Option(
        "--run-id",
        help="Of an earlier run: its own increment is judged and published again.",
        show_default="manual__<now>",
    ),
]


def run(name: PipelineName, run_id: RunId = None, json: Json = False) -> None:
    """Take in what is available, judge it, publish it: doctor, ingest, gate, publish.

    Of a pipeline with a sink of Spark's own: doctor and ingest.
    """
    screen = Screen(json)
    this = Run(open_pipeline(name), run_id or manual_run_id(), screen.line)
    reports: list[Report] = []
    for step in steps_of(this.pipeline.spec):
        report = perform_shown(step, this, screen)
        reports.append(report)
        if report.outcome is not Outcome.DONE:
            break
    if json:
        screen.document(
            {
                "pipeline": name,
                "run_id": this.run_id,
                "outcome": reports[-1].outcome,
                "reports": [report.model_dump(mode="json") for report in reports],
            }
        )
    raise Exit(int(reports[-1].exit_code))


def steps_of(spec: Spec) -> tuple[Step, ...]:
    """The steps of a run: to a sink of Spark's own no gate can be put, nor anything behind it."""
    every: tuple[Step, ...] = get_args(Step)
    return every if spec.published else every[: every.index("ingest") + 1]


def perform_shown(step: Step, this: Run, screen: Screen) -> Report:
    """Perform one step, its lines and its end on the screen."""
    with screen.busy(f"{step} …"):
        report = perform(step, step_function(step), this)
    show = screen.line if report.exit_code is ExitCode.DONE else screen.problem
    show(sentence(report))
    return report


def manual_run_id(kind: str = "manual") -> str:
    """A run id like Airflow's own, such as `manual__2026-03-01T06:00:00+00:00`."""
    return f"{kind}__{datetime.now(UTC).isoformat()}"
