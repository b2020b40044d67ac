"""The environment in which steps run: this process's own, or that of another Python.

`python -m tidemill.toolchain.engine_environment` prints its own as JSON. An Airflow whose steps run
in another environment asks for it there. Standard library only, since every task starts with it.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.contract.project import PACKAGE
from tidemill.toolchain import extras, jars
from tidemill.toolchain.java import UnsuitableJava, java_home

APPLICATION = PACKAGE / "main.py"
# Seconds; it imports nothing large, but a shared disk may be slow.
PATIENCE = 60
# Variables that tell one interpreter where its packages are, and mislead another one.
FOREIGN = frozenset({"PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV"})


class EnginePythonUnusable(UsageError):
    """The Python that is to run the steps cannot; carries `python`."""


@dataclass(frozen=True)
class EngineEnvironment:
    """Where a step finds what it needs.

    Args:
        python: The interpreter, as an absolute path.
        application: The `main.py` of the Tidemill that is installed there.
        jars: The folder of its jars, which may not be there yet.
        version: The version of the Tidemill that is installed there; None where it is a clone.
        java: The home of the Java that Spark would run on; None where it was not looked for, or
            not found.
    """

    python: str
    application: str
    jars: str
    version: str | None
    java: str | None = None


def this_environment() -> EngineEnvironment:
    """That of this process, without Java: to find one means to start it."""
    return EngineEnvironment(
        python=sys.executable,
        application=str(APPLICATION),
        jars=str(jars.folder_of()),
        version=extras.installed_version(),
    )


def environment_of(python: Path) -> EngineEnvironment:
    """That of another interpreter, as it says itself.

    Args:
        python: The interpreter, such as `/opt/tidemill/bin/python`.

    Raises:
        EnginePythonUnusable: it does not start, has no Tidemill, or another version of it.
    """
    command = (str(python), "-m", "tidemill.toolchain.engine_environment")
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    try:
        ended = subprocess.run(
            command, env=kept, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unusable(python, f"does not start ({error})", "Correct the path.") from error
    if ended.returncode:
        last = (ended.stderr.strip() or "it says nothing").splitlines()[-1]
        remedy = f"Run: {python} -m pip install 'tidemill[engine,java]'"
        raise _unusable(python, f"has no Tidemill that starts ({last})", remedy)
    found = EngineEnvironment(**json.loads(ended.stdout))
    own = extras.installed_version()
    if own and found.version and own != found.version:
        what = f"has Tidemill {found.version}, and this environment has {own}"
        raise _unusable(python, what, "Install the same version in both.")
    return found


def _unusable(python: Path, what: str, remedy: str) -> EnginePythonUnusable:
    return EnginePythonUnusable(f"The Python {python} {what}.", remedy=remedy, python=python)


def _java() -> str | None:
    try:
        return str(java_home(os.environ))
    except UnsuitableJava:
        return None


if __name__ == "__main__":
    print(json.dumps(asdict(replace(this_environment(), java=_java()))))
