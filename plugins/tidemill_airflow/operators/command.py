"""How a step is started: its command line and its environment."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidemill.contract.report import Step
from tidemill.storage.processes import LAUNCHER_VARIABLE, this_process
from tidemill.toolchain.java import java_home
from tidemill_airflow.settings import engine_environment

# A driver on another machine finds pipelines, files and packages by these.
OF_THE_DRIVER = (
    *("TIDEMILL_ROOT", "TIDEMILL_ROOT_ID", "TIDEMILL_ROOT_CONN_ID"),
    *("TIDEMILL_PROJECTS", "TIDEMILL_EXAMPLES"),
    *("TIDEMILL_PROFILE", "TIDEMILL_JARS", "PYTHONPATH"),
)


def step_arguments(step: Step, pipelines: Sequence[str], run_id: str) -> tuple[str, ...]:
    """The arguments of `tidemill/main.py`."""
    # In one word, so that a run id that begins with '-' stays a run id.
    return (step, *pipelines, f"--run-id={run_id}")


def step_command(step: Step, pipelines: Sequence[str], run_id: str) -> tuple[str, ...]:
    """A step as a child process that may not start a JVM."""
    engine = engine_environment()
    return (
        engine.python,
        engine.application,
        *step_arguments(step, pipelines, run_id),
        "--no-spark",
    )


def launched_by_this_task(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that every step gets: who started it, and how it writes file names."""
    return {
        LAUNCHER_VARIABLE: this_process().model_dump_json(),
        "PYTHONUNBUFFERED": "1",
        **_utf8(environ),
    }


def spark_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a driver needs beyond those of every step.

    Raises:
        UnsuitableJava: there is no Java that Spark can start on.
    """
    engine = engine_environment()
    ours = {name: environ[name] for name in OF_THE_DRIVER if name in environ}
    return {
        **ours,
        "JAVA_HOME": engine.java or str(java_home(environ)),
        # Spark's workers start the PATH's `python3` unless they are told.
        "PYSPARK_PYTHON": engine.python,
        "PYSPARK_DRIVER_PYTHON": engine.python,
    }


def spark_binary(name: str) -> str:
    """The path of `spark-submit`: the PATH's, else that of the pyspark that runs the steps.

    Where steps run in another environment, the PATH's is not theirs.
    """
    python = engine_environment().python
    beside = Path(python).with_name(name)
    theirs = str(beside) if beside.exists() else None
    if python != sys.executable:
        return theirs or name
    return shutil.which(name) or theirs or name


def _utf8(environ: Mapping[str, str]) -> dict[str, str]:
    """A UTF-8 locale where there is none: the JVM would write `?` for every other letter."""
    effective = next(
        (environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), ""
    )
    return {} if "utf" in effective.lower() else {"LC_ALL": "C.UTF-8"}
