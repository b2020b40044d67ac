"""The command line of every step: `main.py STEP PIPELINE --run-id RUN` -> exit code.

Several pipelines can be named to `ingest`, which then share one Spark application, and to `doctor`.
An ingest with `--through publish` also gates and publishes.

Airflow starts it as a process (ingest through spark-submit). Only the pipeline's name, the step and
the run id cross over; what happened comes back as a report file in the run's folder.
"""

import argparse
import gc
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from traceback import format_exc
from types import FrameType
from typing import get_args

if __name__ == "__main__":
    # What a step imports is never garbage. To look through it again and again, as Python does by
    # default every 700 objects, takes a tenth of the CPU time of a gate.
    gc.set_threshold(200_000)
if sys.path and Path(sys.path[0]) == Path(__file__).resolve().parent:
    # Run as a script: our sub-packages must not stand where top-level modules are looked for.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
if __name__ == "__main__":
    from tidemill.toolchain.pyspark_archives import without_pyspark_archives

    sys.path[:] = without_pyspark_archives(sys.path)

from tidemill.contract import handover
from tidemill.contract import report as reports
from tidemill.contract.errors import ExitCode, TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.remedy import for_airflow, more_about
from tidemill.contract.report import Outcome, Report, Step
from tidemill.contract.syntax.unicode_text import show_any_text
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.parts.run import StepFunction, perform
from tidemill.storage.lease import leave_on_loss
from tidemill.storage.run_context import RunContext

# What an ingest can be followed by in its own process.
FOLLOWING: tuple[Step, ...] = ("gate", "publish")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one step.

    Args:
        argv: Without the program's name; `sys.argv` where not given.

    Returns:
        An `ExitCode`.
    """
    parser = argparse.ArgumentParser(prog="main.py", description=__doc__)
    parser.add_argument("step", choices=get_args(Step))
    parser.add_argument(
        "pipelines", nargs="+", metavar="pipeline", help="several for ingest, doctor"
    )
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--no-spark", action="store_true", help="never start a JVM")
    parser.add_argument(
        "--untold",
        action="store_true",
        help="tell no verdict to the stores, sites and actions of Great Expectations",
    )
    parser.add_argument(
        "--through",
        choices=FOLLOWING,
        help="after an ingest, also perform the steps up to this one, and offer their reports",
    )
    given = parser.parse_args(argv)
    show_any_text()
    signal.signal(signal.SIGTERM, _leave)
    keep_from_others()
    try:
        if given.through and given.step != "ingest":
            parser.error("--through goes with ingest")
        if given.step == "ingest":
            return _ingest(given.pipelines, given.run_id, given.through)
        if len(given.pipelines) > 1:
            if given.step != "doctor":
                parser.error("only ingests and doctors of several pipelines go together")
            return _examine(given.pipelines, given.run_id)
        pipeline = open_pipeline(given.pipelines[0])
        run = RunContext(
            pipeline, given.run_id, log, spark=not given.no_spark, tells=not given.untold
        )
        report = perform(given.step, step_function(given.step), run)
    except TidemillError as error:
        log(f"{error.code}: {error.what} {for_airflow(error.as_dict())}")
        return int(error.exit_code)
    log(sentence(report, in_airflow=True))
    return int(report.exit_code)


def _ingest(names: Sequence[str], run_id: str, through: Step | None) -> int:
    """Ingest pipelines in one Spark application; failed if any of them failed.

    Args:
        through: The last step to perform in this process; None for the ingest alone.
    """
    pipelines = [open_pipeline(name) for name in names]
    several = len(pipelines) > 1
    runs = [
        RunContext(one, run_id, partial(_log_of, one.name) if several else log) for one in pipelines
    ]
    for run in runs:
        # What an earlier try of the ingest was followed by says nothing about this one.
        with suppress(OSError):
            handover.withdraw(run.layout.run(run_id), FOLLOWING)
    if several:
        from tidemill.steps.ingest_group import ingest_group

        found = ingest_group(runs)
    else:
        found = [perform("ingest", step_function("ingest"), runs[0])]
    by_name = {report.pipeline: report for report in found}
    for run in runs:
        if (report := by_name.get(run.pipeline.name)) is not None:
            run.log(sentence(report, in_airflow=True))
            if through is not None:
                _follow(report, replace(run, spark=False), through)
    codes = [report.exit_code for report in found]
    if not several:
        return int(codes[0])
    done = codes.count(ExitCode.DONE) == len(runs)
    return int(ExitCode.DONE if done else ExitCode.FAILED)


def _follow(report: Report, run: RunContext, through: Step) -> None:
    """Perform the steps after an ingest, each if the one before it is done.

    Args:
        report: The ingest's.
        run: It may start no JVM.
        through: The last of them.
    """
    for step in FOLLOWING[: FOLLOWING.index(through) + 1]:
        if report.outcome is not Outcome.DONE:
            return
        following = _perform_and_offer(step, run)
        if following is None:
            return
        report = following


def _examine(names: Sequence[str], run_id: str) -> int:
    """Perform the doctors of several pipelines, one after the other, and offer their reports."""
    for name in names:
        say = partial(_log_of, name)
        try:
            run = RunContext(open_pipeline(name), run_id, say, spark=False)
        except TidemillError as error:
            # The pipeline's own task meets it too, and ends with it.
            say(f"{error.code}: {error.what}")
            continue
        _perform_and_offer("doctor", run)
    return int(ExitCode.DONE)


def _perform_and_offer(step: Step, run: RunContext) -> Report | None:
    """Perform a step in the process of another task, and offer its report to the step's own.

    Returns:
        The report; None where the step's own task has to perform it.
    """
    folder = run.layout.run(run.run_id)
    report: Report | None
    try:
        report = perform(step, step_function(step), run)
    except Exception:  # noqa: BLE001 - the report says what it was
        run.log(format_exc())
        report = reports.read(folder, step)
    if report is None or report.outcome is Outcome.NEEDS_SPARK:
        return None
    run.log(sentence(report, in_airflow=True))
    handover.offer(folder, step)
    return report


def _log_of(name: str, line: str) -> None:
    log(f"{name}: {line}")


def step_function(step: Step) -> StepFunction:
    """The function of a step, imported only when it is needed: some pull in Spark or GX."""
    if step == "doctor":
        from tidemill.steps.doctor import doctor

        return doctor
    if step == "decide":
        from tidemill.steps.decide import decide

        return decide
    if step == "ingest":
        from tidemill.steps.ingest import ingest

        return ingest
    if step == "gate":
        from tidemill.steps.gate import gate

        return gate
    from tidemill.steps.publish import publish

    return publish


def sentence(report: Report, *, in_airflow: bool = False) -> str:
    """A report as one line.

    Args:
        in_airflow: Whether it is read in Airflow; else at a shell.
    """
    remedy = code = ""
    if report.error:
        code = f" [{report.error['code']}]"
        at_shell = f"{report.error['remedy']}{more_about(report.error)}"
        remedy = f" {for_airflow(report.error) if in_airflow else at_shell}"
    return f"{report.step} {report.outcome}: {report.reason}{code}{remedy}"


def log(line: str) -> None:
    sys.stdout.write(f"tidemill: {line}\n")
    sys.stdout.flush()


def _leave(_number: int, _frame: FrameType | None) -> None:
    # An exception, so that the query is stopped and the lease released on the way out.
    raise SystemExit(int(ExitCode.FAILED))


if __name__ == "__main__":
    leave_on_loss()
    code = main()
    # Nor is what is left at the end worth a look.
    gc.freeze()
    sys.exit(code)
