"""The command line of every step: `main.py STEP PIPELINE --run-id RUN` -> exit code.

Several pipelines can be named to `ingest`: they then share one Spark application.

Airflow starts it as a process (ingest through spark-submit). Only the pipeline's name, the step and
the run id cross over; what happened comes back as a report file in the run's folder.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import get_args

if sys.path and Path(sys.path[0]) == Path(__file__).resolve().parent:
    # Run as a script: our sub-packages must not stand where top-level modules are looked for.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from tidemill.contract.errors import ExitCode, TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.remedy import for_airflow, more_about
from tidemill.contract.report import Report, Step
from tidemill.contract.syntax.unicode_text import show_any_text
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.parts.run import StepFunction, perform
from tidemill.storage.lease import leave_on_loss
from tidemill.storage.run_context import RunContext


def main(argv: Sequence[str] | None = None) -> int:
    """Run one step.

    Args:
        argv: Without the program's name; `sys.argv` where not given.

    Returns:
        An `ExitCode`.
    """
    parser = argparse.ArgumentParser(prog="main.py", description=__doc__)
    parser.add_argument("step", choices=get_args(Step))
    parser.add_argument("pipelines", nargs="+", metavar="pipeline", help="several to ingest only")
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--no-spark", action="store_true", help="never start a JVM")
    parser.add_argument(
        "--untold",
        action="store_true",
        help="tell no verdict to the stores, sites and actions of Great Expectations",
    )
    given = parser.parse_args(argv)
    show_any_text()
    signal.signal(signal.SIGTERM, _leave)
    keep_from_others()
    try:
        if len(given.pipelines) > 1:
            if given.step != "ingest":
                parser.error("only the ingests of several pipelines go together")
            return _ingest_group(given.pipelines, given.run_id)
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


def _ingest_group(names: Sequence[str], run_id: str) -> int:
    """Ingest several pipelines in one Spark application; failed if any of them failed."""
    from tidemill.steps.ingest_group import ingest_group

    pipelines = [open_pipeline(name) for name in names]
    runs = [RunContext(one, run_id, partial(_log_of, one.name)) for one in pipelines]
    reports = ingest_group(runs)
    for report in reports:
        _log_of(report.pipeline, sentence(report, in_airflow=True))
    done = [report for report in reports if report.exit_code == ExitCode.DONE]
    return int(ExitCode.DONE if len(done) == len(runs) else ExitCode.FAILED)


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
    sys.exit(main())
