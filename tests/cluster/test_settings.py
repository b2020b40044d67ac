"""Settings of a cluster, of its workers and of `spark-defaults.conf`, seen at work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cluster.shell import report, typed
from tests.cluster.unlucky import SECRET, Unlucky, apps, let_in, options
from tests.servers.ports import free_ports, is_taken
from tests.servers.spark import Cluster, HistoryServer
from tests.servers.wire import FAR, NEAR, Wire
from tests.support.pipelines.windowed_words import at, windows
from tests.support.processes import wait_for
from tests.support.shown_errors import seen_in
from tidemill.contract.errors import ExitCode
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.generation_note import read_note
from tidemill_airflow.addresses import SPARK_HISTORY, spark_history_url

# Seconds between two looks, and from the end of an application until its folders may go.
CLEANUP = {"enabled": "true", "interval": 1, "appDataTtl": 1}
# It goes to executors as a setting, as the password of a bucket does.
PASSWORD = "known to the driver and its executors"
# Seconds that a page of Spark may take on a busy machine.
PATIENCE = 120


@pytest.fixture(scope="module")
def secured(child_jvm: Path) -> Iterator[Cluster]:
    """A cluster that asks for a secret; its workers soon remove what ended applications left."""
    cleanup = {f"spark.worker.cleanup.{name}": value for name, value in CLEANUP.items()}
    with Cluster(options(**cleanup), {"_SPARK_AUTH_SECRET": SECRET}) as cluster:
        yield cluster


@dataclass(frozen=True)
class Seen:
    """What was seen of a run while it was at work.

    Args:
        unlucky: The pipeline that ran.
        app: The application, as the master saw it.
        executors: Those that the driver saw.
        settings: Spark's, of the driver.
        folders: Those of the application on the workers.
        blocks: The port that `spark-defaults.conf` has for executors.
        carried: What went between driver and executors, for each connection and direction.
        dead: The port of the first master in the connection, where none is.
        events: The folder of event logs.
    """

    unlucky: Unlucky
    app: dict[str, Any]
    executors: list[dict[str, Any]]
    settings: dict[str, str]
    folders: list[Path]
    blocks: int
    carried: list[bytearray]
    dead: int
    events: Path


@pytest.fixture(scope="module")
def seen(secured: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """A run with settings of its own; it has ended well."""
    home = tmp_path_factory.mktemp("home")
    events = tmp_path_factory.mktemp("events")
    blocks, page, dead, driver, of_driver = free_ports(5)
    masters = secured.url.replace("//", f"//127.0.0.1:{dead},")
    conf = {
        "spark.cores.max": 3,
        "spark.executor.cores": 1,
        "spark.executor.memory": "512m",
        "spark.tide.password": PASSWORD,
        # Executors reach the driver over two wires.
        "spark.driver.host": NEAR,
        "spark.driver.bindAddress": FAR,
        "spark.driver.port": driver,
        "spark.driver.blockManager.port": of_driver,
        "spark.blockManager.port": blocks,
        "spark.ui.port": page,
        "spark.dynamicAllocation.enabled": "true",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
    }
    unlucky = Unlucky(home, masters, ["master"], conf)
    unlucky.flow.write(
        spark={"conf": {"spark.ui.enabled": True, "spark.network.crypto.enabled": False}}
    )
    with Wire(driver) as calls, Wire(of_driver) as data, unlucky.at_work():
        (app,) = apps(secured)
        known = f"http://127.0.0.1:{page}/api/v1/applications/{app['id']}"
        listed = httpx.get(f"{known}/executors", timeout=PATIENCE).json()
        told = httpx.get(f"{known}/environment", timeout=PATIENCE).json()
        return Seen(
            unlucky=unlucky,
            app=app,
            executors=[one for one in listed if one["id"] != "driver"],
            settings=dict(told["sparkProperties"]),
            folders=[path for one in secured.workers for path in one.home.glob(app["id"])],
            blocks=blocks,
            carried=[*calls.carried, *data.carried],
            dead=dead,
            events=events,
        )


def test_a_dead_master_keeps_no_run_from_one_that_lives(seen: Seen) -> None:
    assert not is_taken(seen.dead)
    assert seen.unlucky.flow.published("word", "count") == [("master", 1), ("tide", 1)]


def test_a_run_takes_the_cores_it_may_have_and_cuts_its_state_for_them(seen: Seen) -> None:
    assert seen.app["cores"] == 3
    assert [one["totalCores"] for one in seen.executors] == [1, 1, 1]
    note = read_note(seen.unlucky.flow.layout, FIRST_GENERATION)
    assert note is not None
    # This machine may have any number, and the cluster has four.
    assert note.shuffle_partitions == 3


def test_executors_listen_where_a_firewall_lets_them(seen: Seen) -> None:
    ports = [int(one["hostPort"].rpartition(":")[2]) for one in seen.executors]
    # Where two of them share a machine, the second one takes the next port.
    assert all(seen.blocks <= port <= seen.blocks + 16 for port in ports)


def test_what_driver_and_executors_say_cannot_be_read_on_the_wire_whatever_a_spec_says(
    seen: Seen,
) -> None:
    # Each of three executors calls the driver, and fetches data from it.
    assert len(seen.carried) >= 2 * 2 * len(seen.executors)
    assert not any(PASSWORD.encode() in one for one in seen.carried)


def test_dynamic_allocation_stays_off_whatever_the_defaults_say(seen: Seen) -> None:
    assert seen.settings["spark.dynamicAllocation.enabled"] == "false"


def test_workers_remove_the_folders_of_an_application_that_has_ended(seen: Seen) -> None:
    assert len(seen.folders) == 2
    wait_for(lambda: not any(folder.exists() for folder in seen.folders))


def test_a_runs_link_leads_to_its_application_in_the_history_server(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = report(seen.unlucky.flow, "unlucky")
    assert left.spark is not None
    assert left.spark.logs_events
    with HistoryServer(seen.events) as server:
        monkeypatch.setenv(SPARK_HISTORY, server.page)
        link = spark_history_url(left.spark.id)
        shown = httpx.get(link, follow_redirects=True, timeout=PATIENCE)
    assert (shown.status_code, seen.app["name"] in shown.text) == (200, True)


@pytest.mark.parametrize(
    ("secret", "said"),
    [("a guess", "it asks for another secret"), (None, "it asks for a secret")],
)
def test_a_driver_with_another_secret_is_refused_and_touches_nothing(
    secured: Cluster, tmp_path: Path, secret: str | None, said: str
) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "first", [at("12:01")])
    environ = let_in(flow, secured.url, secret)
    with typed("run", flow.name, "--run-id", "guess", environ=environ) as run:
        assert run.wait() == ExitCode.USAGE
    error = report(flow, "guess").error
    assert error is not None
    seen_in(error["code"])
    assert (error["code"], error["transient"]) == ("DriverRefused", False)
    place = secured.url.removeprefix("spark://")
    assert error["data"] == {"masters": {place: said}, "conn_id": "tidemill_spark"}
    for folder in ("checkpoints", "ledger", "table"):
        assert not (flow.layout.home / folder).exists()
