"""The blocks of the page on a Hive metastore: Spark reads the rows by the table's name."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.pages import BLOCKS
from tidemill.contract.report import Outcome
from tidemill.toolchain.jars import jars_of
from tidemill.toolchain.spark_conf import QUICK_START

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.hive_metastore import HiveMetastore

SHOWN = "sales.orders"
PACKAGES = '"spark.jars.packages", "io.delta:delta-spark_4.2_2.13:4.4.0"'
# Instead of a download, and with the quick start of the other tests.
JARS = f'"spark.jars", "{",".join(map(str, jars_of("delta")))}"'
PRINT = 'print("ROWS", sorted((row.id, str(row.day)) for row in orders))'
OPTIONS = (
    f'.config("spark.ui.enabled", "false").config("spark.driver.extraJavaOptions", "{QUICK_START}")'
)


def shown(block: str, *changes: tuple[str, str]) -> str:
    """A block of the page, with what is different here."""
    text = BLOCKS[block]
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


def test_spark_reads_the_published_rows_by_the_tables_name(
    make_history: Callable[..., History],
    table: str,
    hive_metastore: HiveMetastore,
    child_jvm: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = f"{hive_metastore.host}:{hive_metastore.port}"
    line = shown("hive-connection", ("metastore:9083", address))
    name, _, value = shlex.split(line)[1].partition("=")
    monkeypatch.setenv(name, value)
    history = make_history(more=shown("hive-target", (SHOWN, table)))
    history.increment(rows(1, 2))
    assert history.publish().outcome is Outcome.DONE

    code = shown(
        "hive-read",
        (f"{PACKAGES})", f"{JARS}){OPTIONS}"),
        ("thrift://metastore:9083", hive_metastore.uri),
        (SHOWN, table),
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f'{code}\nprint("ROWS", sorted((row.id, str(row.day)) for row in orders))',
        ],
        env={**os.environ, "JAVA_HOME": str(child_jvm)},
        cwd=history.root.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "ROWS [(1, '2024-01-01'), (2, '2024-01-01')]" in done.stdout.splitlines()
