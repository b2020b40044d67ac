"""The environment of a small Airflow on one machine, for `make up`, `make demo` and the tests."""

import json
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.project import REPOSITORY

DEFAULT_PORT = 8080
# Airflow's defaults for its log servers, 8793 and 8794, as distances from the API server's port.
WORKER_LOGS, TRIGGER_LOGS = 713, 714


@dataclass(frozen=True)
class Kept:
    """What `make demo` leaves and `make up` shows, in two folders that git ignores.

    Args:
        folder: Where the two are: beside the code, or in a test's own place.
    """

    folder: Path = REPOSITORY

    @property
    def home(self) -> Path:
        """AIRFLOW_HOME."""
        return self.folder / ".airflow"

    @property
    def data(self) -> Path:
        return self.folder / ".tidemill"

    @property
    def root(self) -> Path:
        """TIDEMILL_ROOT."""
        return self.data / "root"

    @property
    def input(self) -> Path:
        """TIDEMILL_INPUT: where files arrive."""
        return self.data / "input"

    @property
    def pid_file(self) -> Path:
        return self.home / "up.pid"

    def environment(self, port: int = DEFAULT_PORT) -> dict[str, str]:
        """The environment of the Airflow in it."""
        variables = airflow_environment(home=self.home, root=self.root, port=port)
        return {**variables, "TIDEMILL_INPUT": str(self.input)}


def airflow_environment(
    *,
    home: Path,
    root: Path,
    port: int = DEFAULT_PORT,
    master: str = "local[*]",
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Everything that scheduler, DAG processor, API server and tasks need to know.

    Args:
        home: AIRFLOW_HOME: database, logs.
        root: TIDEMILL_ROOT.
        port: The port of the API server, on the loopback interface only.
        master: Spark's, for the connection `tidemill_spark`.
        environ: What is kept beside it.
    """
    url = f"http://127.0.0.1:{port}"
    return {
        **environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        # LocalExecutor forks this many idle workers at once; the pool bounds what they do.
        "AIRFLOW__CORE__PARALLELISM": "4",
        # Only this machine's users reach the loopback interface, so there is no login.
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        # Tasks derive the address they report to from this, and not from the port.
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(port + WORKER_LOGS),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(port + TRIGGER_LOGS),
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(32),
        # Otherwise each process makes up its own, and the API server refuses the tasks' tokens.
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(64),
        # Airflow forgets a spec's import error at each refresh and finds it again at the next
        # parse, so parses come more often.
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "60",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "15",
        "AIRFLOW_CONN_TIDEMILL_SPARK": json.dumps({"conn_type": "spark", "host": master}),
        "TIDEMILL_ROOT": str(root),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), environ.get("PATH", ""))),
        "PYTHONPATH": os.pathsep.join(
            filter(
                None,
                (str(REPOSITORY), str(REPOSITORY / "plugins"), environ.get("PYTHONPATH", "")),
            )
        ),
    }
