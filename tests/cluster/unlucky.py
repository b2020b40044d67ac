"""A pipeline on a cluster that asks for a secret; its words end what counts them, or hold it up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.shell import typed
from tests.servers.spark import Cluster
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.windowed_words import SPEC, at
from tests.support.processes import wait_for

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


def options(**settings: object) -> list[str]:
    """Settings of daemons, with authentication."""
    all_of_them = {"spark.authenticate": "true", **settings}
    return [f"-D{name}={value}" for name, value in all_of_them.items()]


def let_in(flow: JsonPipeline, url: str, secret: str | None) -> dict[str, str]:
    """The variables of a command whose driver comes to a cluster's masters with a secret."""
    extra = {"spark.authenticate.secret": secret} if secret else {}
    connection = {"conn_type": "spark", "host": url, "extra": extra}
    environ = {
        **flow.environ,
        "AIRFLOW_CONN_TIDEMILL_SPARK": json.dumps(connection),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    del environ["TIDEMILL_MASTER"]
    return environ


class Unlucky:
    """A pipeline that counts words, some of which end what counts them.

    Args:
        home: Gets the pipeline and the marks of what has happened.
        url: Where the masters of its cluster are.
        words: One for each batch.
        conf: The content of `spark-defaults.conf`.
    """

    def __init__(
        self, home: Path, url: str, words: Sequence[str], conf: Mapping[str, object]
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
        self.environ = {**let_in(self.flow, url, SECRET), "SPARK_CONF_DIR": str(home)}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """What happens while its last batch waits for a master; then it goes on to its end."""
        command = ("run", self.flow.name, "--run-id", "unlucky")
        with typed(*command, environ=self.environ) as run:
            wait_for((self.marks / "master").exists)
            yield
            (self.marks / "go on").touch()
            assert run.wait() == 0


def apps(cluster: Cluster) -> list[dict[str, Any]]:
    """The applications at work, as the master sees them."""
    return list(cluster.master.view()["activeapps"])
