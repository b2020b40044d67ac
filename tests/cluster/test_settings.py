"""Settings of a cluster, of its workers and of `spark-defaults.conf`, seen at work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cluster.shell import report
from tests.cluster.unlucky import SECRET, Unlucky, apps, options
from tests.servers.ports import free_ports
from tests.servers.spark import Cluster, HistoryServer
from tests.support.processes import wait_for
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.generation_note import read_note
from tidemill_airflow.addresses import SPARK_HISTORY, spark_history_url

# Seconds between two looks, and from the end of an application until its folders may go.
CLEANUP = {"enabled": "true", "interval": 1, "appDataTtl": 1}


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
        events: The folder of event logs.
    """

    unlucky: Unlucky
    app: dict[str, Any]
    executors: list[dict[str, Any]]
    settings: dict[str, str]
    folders: list[Path]
    blocks: int
    events: Path


@pytest.fixture(scope="module")
def seen(secured: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """A run with settings of its own; it has ended well."""
    home = tmp_path_factory.mktemp("home")
    events = tmp_path_factory.mktemp("events")
    blocks, page = free_ports(2)
    conf = {
        "spark.cores.max": 3,
        "spark.executor.cores": 1,
        "spark.executor.memory": "512m",
        "spark.blockManager.port": blocks,
        "spark.ui.port": page,
        "spark.dynamicAllocation.enabled": "true",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
    }
    unlucky = Unlucky(home, secured, ["master"], conf)
    unlucky.flow.write(spark={"conf": {"spark.ui.enabled": True}})
    with unlucky.at_work():
        (app,) = apps(secured)
        of_driver = f"http://127.0.0.1:{page}/api/v1/applications/{app['id']}"
        listed = httpx.get(f"{of_driver}/executors").json()
        return Seen(
            unlucky=unlucky,
            app=app,
            executors=[one for one in listed if one["id"] != "driver"],
            settings=dict(httpx.get(f"{of_driver}/environment").json()["sparkProperties"]),
            folders=[path for one in secured.workers for path in one.home.glob(app["id"])],
            blocks=blocks,
            events=events,
        )


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
        shown = httpx.get(link, follow_redirects=True, timeout=60)
    assert (shown.status_code, seen.app["name"] in shown.text) == (200, True)
