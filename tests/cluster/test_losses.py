"""A run that loses executors, a worker and the master: the rows are those of a quiet one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.cluster.shell import report
from tests.cluster.unlucky import SECRET, Unlucky, apps, options
from tests.servers.ports import free_ports, is_taken
from tests.servers.spark import Cluster
from tests.servers.zookeeper import ZooKeeper
from tests.support.processes import wait_for
from tidemill.contract.report import Outcome

RECOVERY = "spark.deploy.recoveryMode"


@pytest.fixture
def secured(child_jvm: Path, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster that asks for a secret, and whose master recovers from its files."""
    files = {RECOVERY: "FILESYSTEM", "spark.deploy.recoveryDirectory": tmp_path / "recovery"}
    with Cluster(options(**files), {"_SPARK_AUTH_SECRET": SECRET}) as cluster:
        yield cluster


@pytest.fixture
def doubled(child_jvm: Path) -> Iterator[Cluster]:
    """The same with a second master, which stands by in ZooKeeper."""
    with ZooKeeper() as zookeeper:
        keeper = {RECOVERY: "ZOOKEEPER", "spark.deploy.zookeeper.url": zookeeper.address}
        with Cluster(options(**keeper), {"_SPARK_AUTH_SECRET": SECRET}, masters=2) as cluster:
            yield cluster


def test_nothing_is_lost_with_an_executor_a_worker_and_the_master(
    secured: Cluster, tmp_path: Path
) -> None:
    driver, blocks = free_ports(2)
    unlucky = Unlucky(
        tmp_path,
        secured.url,
        ["executor", "worker", "master"],
        {
            "spark.driver.port": driver,
            "spark.driver.blockManager.port": blocks,
            "spark.executor.memory": "640m",
        },
    )
    with unlucky.at_work():
        assert not [line for line in command_lines() if SECRET in line]
        assert is_taken(driver)
        assert is_taken(blocks)
        assert [app["memoryperslave"] for app in apps(secured)] == [640]
        (master,) = secured.masters
        master.kill()
        master.start()
        wait_for(secured.leads)
        wait_for(lambda: [app["state"] for app in apps(secured)] == ["RUNNING"])

    assert unlucky.flow.published("word", "count") == [
        ("executor", 1),
        ("master", 1),
        ("tide", 3),
        ("worker", 1),
    ]
    left = report(unlucky.flow, "unlucky")
    assert left.outcome is Outcome.DONE
    assert left.spark is not None
    logs = [one.logs["stderr"] for one in left.spark.lost_executors]
    assert len(logs) >= 2
    pages = {worker.page: worker.answers() for worker in secured.workers}
    assert sorted(pages.values()) == [False, True]
    for address in logs:
        lives = pages[address.partition("/logPage/")[0]]
        # The log of an executor whose worker lives can be read there.
        assert not lives or httpx.get(address).is_success


def test_a_second_master_takes_over_from_one_that_died(doubled: Cluster, tmp_path: Path) -> None:
    unlucky = Unlucky(tmp_path, doubled.url, ["master"], {})
    with unlucky.at_work():
        first = doubled.master
        first.kill()
        wait_for(doubled.leads)
        wait_for(lambda: [app["state"] for app in apps(doubled)] == ["RUNNING"])
        assert doubled.master is not first
    assert unlucky.flow.published("word", "count") == [("master", 1), ("tide", 1)]


def command_lines() -> list[str]:
    """Those of every process of this machine, as each of its users can read them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found
