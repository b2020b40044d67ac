"""Airflow's section `[tidemill]`: where pipelines and their root are, and which Python runs steps.

Each option is a variable too, such as `AIRFLOW__TIDEMILL__PYTHON`; Airflow reads those itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tidemill.contract.objects.root_connection import look_up_with
from tidemill.toolchain import jars
from tidemill.toolchain.engine_environment import (
    FOREIGN,
    EngineEnvironment,
    environment_of,
    this_environment,
)
from tidemill_airflow.airflow_internals.configuration import conf
from tidemill_airflow.provider import SECTION
from tidemill_airflow.root_connection import root_connection

# Option -> the variable that a step and the command line read.
_VARIABLES = {
    "root": "TIDEMILL_ROOT",
    "projects": "TIDEMILL_PROJECTS",
    "examples": "TIDEMILL_EXAMPLES",
}


def export_settings() -> None:
    """Put the options into the variables that are not set; a variable that is set wins.

    The connection of a root in an object store is asked of Airflow where no variable holds it.
    """
    look_up_with(root_connection)
    for option, variable in _VARIABLES.items():
        if value := conf.get(SECTION, option, fallback=""):
            os.environ.setdefault(variable, value)


def engine_environment() -> EngineEnvironment:
    """The environment that runs the steps: that of the option `python`, else Airflow's own.

    Raises:
        EnginePythonUnusable: the option names a Python that cannot run a step.
    """
    python = conf.get(SECTION, "python", fallback="")
    return _environment(python) if python else this_environment()


def variables_for_steps() -> Mapping[str, str]:
    """The variables of this process, without those that would mislead another Python."""
    engine = engine_environment()
    if engine.python == sys.executable:
        return dict(os.environ)
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return {**kept, jars.FOLDER_VARIABLE: engine.jars}


@cache
def _environment(python: str) -> EngineEnvironment:
    return environment_of(Path(python))
