"""A running Airflow: scheduler, DAG processor, triggerer, API server, LocalExecutor."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx
from cryptography.fernet import Fernet

from tidemill_airflow.local.environment import airflow_environment
from tidemill_airflow.operators.processes import end_session

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Person:
    """Who logs in, as an admin.

    Args:
        name: What Airflow knows them by.
        password: Theirs.
    """

    name: str
    password: str


class Airflow:
    """The REST API of a running Airflow.

    Args:
        url: Where it listens.
        log: What its processes print.
        environ: The environment of its processes.
        leader: The pid of the first process of the session in which all of them are.
    """

    def __init__(self, url: str, log: Path, environ: Mapping[str, str], leader: int) -> None:
        self.url = url
        self.log = log
        self.leader = leader
        self._environ = environ
        self._client = httpx.Client(base_url=f"{url}/api/v2", timeout=120)

    def log_in(self, person: Person) -> None:
        """Ask as somebody from now on."""
        who = {"username": person.name, "password": person.password}
        answer = self._client.post(f"{self.url}/auth/token", json=who)
        answer.raise_for_status()
        self._client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        answer = self._client.get(path, params=params)
        answer.raise_for_status()
        return dict(answer.json())

    def patch(self, path: str, body: Mapping[str, Any]) -> None:
        self._client.patch(path, json=body).raise_for_status()

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._client.post(path, json=body)
        answer.raise_for_status()
        return dict(answer.json())

    def has_run(self, dag: str, first: datetime, last: datetime, how: str = "scheduled") -> None:
        """Add runs of the past to its database, one for each interval of the schedule.

        They are over, and all their tasks were done.

        Args:
            first: The start of the first interval.
            last: The start of the last.
            how: The type of the runs, with which their ids begin.
        """
        given = {"dag": dag, "first": first.isoformat(), "last": last.isoformat(), "how": how}
        subprocess.run(
            [sys.executable, "-c", RUNS_OF_THE_PAST],
            env=dict(self._environ),
            check=True,
            input=json.dumps(given),
            text=True,
            capture_output=True,
        )

    def healthy(self) -> bool:
        try:
            health = self.get("/monitor/health")
        except httpx.HTTPError:
            return False
        parts = ("scheduler", "dag_processor", "triggerer", "metadatabase")
        return all(health[part]["status"] == "healthy" for part in parts)

    def knows(self, dag: str) -> bool:
        return dag in {d["dag_id"] for d in self.get("/dags", limit=100)["dags"]}

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """The DAG's runs, oldest first."""
        return list(self.get(f"/dags/{dag}/dagRuns", order_by="run_after", limit=100)["dag_runs"])

    def ended(self, dag: str) -> bool:
        """Whether it has run, and no run of it is still to end."""
        states = {run["state"] for run in self.runs(dag)}
        return bool(states) and states <= {"success", "failed"}

    def asset_events(self) -> list[dict[str, Any]]:
        """The first hundred, oldest first.

        Airflow 3.3.2 answers with an error as long as a run that one of them started is queued:
        such a run has no start yet, and its answer must have one.
        """

        def answered() -> httpx.Response | None:
            answer = self._client.get("/assets/events", params={"limit": 100})
            return None if answer.is_server_error else answer

        answer = until(answered, "Airflow lists its asset events").raise_for_status()
        return list(answer.json()["asset_events"])

    def states(self, dag: str, run_id: str) -> dict[str, str | None]:
        """Task -> its state."""
        found = self.get(f"/dags/{dag}/dagRuns/{run_id}/taskInstances")["task_instances"]
        return {task["task_id"]: task["state"] for task in found}


# Connections come by standard input: on a command line everybody could read them.
PREPARE = """
import json, sys
from tidemill_airflow.local.metadata import prepare
prepare()
from airflow.models.connection import Connection
from airflow.utils.session import create_session
with create_session() as session:
    for conn_id, uri in json.load(sys.stdin).items():
        session.add(Connection(conn_id=conn_id, uri=uri))
"""


RUNS_OF_THE_PAST = """
import json, sys
from datetime import datetime
given = json.load(sys.stdin)
from airflow.models.serialized_dag import SerializedDagModel
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from airflow.utils.types import DagRunTriggeredByType, DagRunType
first, last = (datetime.fromisoformat(given[side]) for side in ("first", "last"))
with create_session() as session:
    dag = session.scalar(SerializedDagModel.latest_item_select_object(given["dag"])).dag
    for info in dag.iter_dagrun_infos_between(first, last):
        run = dag.create_dagrun(
            run_id=f"{given['how']}__{info.logical_date.isoformat()}",
            logical_date=info.logical_date,
            data_interval=info.data_interval,
            run_after=info.run_after,
            start_date=info.run_after,
            run_type=DagRunType(given["how"]),
            triggered_by=DagRunTriggeredByType.TIMETABLE,
            state=DagRunState.SUCCESS,
            session=session,
        )
        for task in run.get_task_instances(session=session):
            task.state = TaskInstanceState.SUCCESS
"""


# All in one session, so that they end together; also where whoever holds the other end of the
# standard input is killed. A part that ends is started again, as a service is, if $1 says so.
START = """
exec 3<&0
part() { while "$2" -m airflow $1 3<&-; [ "$3" = restarted ]; do :; done; }
for part in scheduler dag-processor api-server triggerer; do part $part "$0" $1 & done
( trap '' TERM; read -r _ <&3; kill -s TERM 0; sleep 5; kill -s KILL 0 ) &
wait
"""


@contextmanager
def running(
    home: Path,
    environ: Mapping[str, str],
    stored: Mapping[str, str] | None = None,
    *,
    database: str | None = None,
    person: Person | None = None,
    restarted: bool = False,
) -> Iterator[Airflow]:
    """Start one in a home of its own, and stop all of it at the end.

    Args:
        home: AIRFLOW_HOME.
        environ: With TIDEMILL_ROOT and whatever the pipelines need.
        stored: Connections in its database, by id, as URIs.
        database: The address of a PostgreSQL database for its metadata; else it is SQLite.
        person: Who may log in; without one everybody is an anonymous admin.
        restarted: Whether a part that ends is started again.
    """
    port = _free_port()
    home.mkdir()
    variables = airflow_environment(
        home=home,
        root=Path(environ["TIDEMILL_ROOT"]),
        port=port,
        master="local[2]",
        environ=environ,
    )
    # The `airflow` command makes one up at its first start; what is stored earlier stays readable.
    variables["AIRFLOW__CORE__FERNET_KEY"] = Fernet.generate_key().decode()
    if database is not None:
        metadata = database.replace("postgresql://", "postgresql+psycopg://")
        variables["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = metadata
        variables["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC"] = metadata
    if person is not None:
        passwords = home / "passwords.json"
        passwords.touch(mode=0o600)
        passwords.write_text(json.dumps({person.name: person.password}))
        variables["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS"] = "False"
        variables["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"] = f"{person.name}:admin"
        variables["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"] = str(passwords)
    log = home / "airflow.log"
    with log.open("w") as output:
        subprocess.run(
            [sys.executable, "-c", PREPARE],
            env=variables,
            check=True,
            input=json.dumps(dict(stored or {})),
            text=True,
            stdout=output,
            stderr=output,
        )
        process = subprocess.Popen(
            ["sh", "-c", START, sys.executable, *(["restarted"] if restarted else [])],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        airflow = Airflow(f"http://127.0.0.1:{port}", log, variables, process.pid)
        until(airflow.healthy, "Airflow is healthy", seconds=600)
        if person is not None:
            airflow.log_in(person)
        yield airflow
    finally:
        end_session(process.pid)


def until(question: Callable[[], Answer], what: str, *, seconds: float = 600) -> Answer:
    """Ask until the answer is true.

    Raises:
        AssertionError: it was not in time; a bound on hanging, not a measurement.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # On a busy machine the API server may take its time, too.
        with suppress(httpx.TimeoutException):
            answer = question()
            if answer:
                return answer
        time.sleep(0.5)
    raise AssertionError(what)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
