"""A run that loses executors, a worker and the master: the rows are those of a quiet one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cluster.shell import report, typed
from tests.servers.ports import free_ports, is_taken
from tests.servers.spark import Cluster
from tests.servers.zookeeper import ZooKeeper
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.windowed_words import SPEC, at
from tests.support.processes import wait_for
from tidemill.contract.report import Outcome

SECRET = "only those who know this are let in"
# Words that let something happen to the executor at work, once; then they are counted as others.
FATAL = """
import os
import signal
import time
from pathlib import Path

from pyspark.sql import functions as F

FOLDER = Path({folder!r})


def parent(pid):
    return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])


def fate(word):
    if word not in ("executor", "worker", "master"):
        return word
    try:
        (FOLDER / word).touch(exist_ok=False)
    except FileExistsError:
        return word
    executor = parent(os.getppid())
    if word == "executor":
        os.kill(executor, signal.SIGKILL)
    if word == "worker":
        os.kill(parent(executor), signal.SIGKILL)
    while not (FOLDER / "go on").exists():
        time.sleep(0.05)
    return word


def transform(events):
    words = events.withColumn("word", F.udf(fate, "string")("word"))
    return words.groupBy(F.window("at", "10 minutes"), "word").count()
"""


RECOVERY = "spark.deploy.recoveryMode"


def options(**settings: object) -> list[str]:
    """Settings of daemons, with authentication."""
    all_of_them = {"spark.authenticate": "true", **settings}
    return [f"-D{name}={value}" for name, value in all_of_them.items()]


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


class Unlucky:
    """A pipeline that counts words, some of which end what counts them.

    Args:
        home: Gets the pipeline and the marks of what has happened.
        words: One for each batch.
        conf: The content of `spark-defaults.conf`.
    """

    def __init__(
        self, home: Path, cluster: Cluster, words: Sequence[str], conf: Mapping[str, object]
    ) -> None:
        self.marks = home / "marks"
        self.marks.mkdir()
        self.flow = JsonPipeline(
            home,
            {"events": "at timestamp, word string"},
            SPEC,
            FATAL.format(folder=str(self.marks)),
        )
        for number, word in enumerate(words):
            self.flow.arrive("events", word, [at(f"12:0{number}", word), at("12:05", "tide")])
        self.flow.arrive("events", "last", [at("13:00", "ebb")])
        lines = (f"{name} {value}\n" for name, value in conf.items())
        (home / "spark-defaults.conf").write_text("".join(lines))
        extra = {"spark.authenticate.secret": SECRET}
        connection = {"conn_type": "spark", "host": cluster.url, "extra": extra}
        self.environ = {
            **self.flow.environ,
            "AIRFLOW_CONN_TIDEMILL_SPARK": json.dumps(connection),
            "SPARK_CONF_DIR": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        del self.environ["TIDEMILL_MASTER"]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """What happens while its last batch waits for a master; then it goes on to its end."""
        command = ("run", self.flow.name, "--run-id", "unlucky")
        with typed(*command, environ=self.environ) as run:
            wait_for((self.marks / "master").exists)
            yield
            (self.marks / "go on").touch()
            assert run.wait() == 0


def test_nothing_is_lost_with_an_executor_a_worker_and_the_master(
    secured: Cluster, tmp_path: Path
) -> None:
    driver, blocks = free_ports(2)
    unlucky = Unlucky(
        tmp_path,
        secured,
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
    unlucky = Unlucky(tmp_path, doubled, ["master"], {})
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


def apps(cluster: Cluster) -> list[dict[str, Any]]:
    """The applications at work, as the master sees them."""
    return list(cluster.master.view()["activeapps"])
