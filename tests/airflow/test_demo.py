"""`make demo`, and `make up` on what it left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from deltalake import DeltaTable

from spark_jobs.contract.layout import Layout
from spark_jobs.ledger.increments import Increments
from spark_jobs.ledger.journal import Journal
from tidemill.environment import Kept

pytestmark = [pytest.mark.jvm, pytest.mark.airflow, pytest.mark.slow]

NAME = "shop_orders"


@pytest.fixture(scope="module")
def environ() -> dict[str, str]:
    """The environment of somebody at a shell, without the test session's own Airflow."""
    ours = ("AIRFLOW", "TIDEMILL", "PYSPARK", "SPARK")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture(scope="module")
def demo(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A folder in which the demo has run."""
    kept = Kept(tmp_path_factory.mktemp("demo"))
    command = [sys.executable, "-m", "tidemill.demo", "--folder", str(kept.folder)]
    assert subprocess.run(command, env=environ, check=False).returncode == 0
    return kept


def test_five_days_go_out_in_order_and_the_bad_one_by_a_release(demo: Kept) -> None:
    layout = Layout(demo.root, NAME)
    journal = Journal(layout.journal)
    out = [(event.increment, journal.applied(event.seq)) for event in journal.events()]
    assert [number for number, _ in out] == [1, 2, 3, 4, 5]
    assert [applied.version for _, applied in out if applied] == [0, 1, 2, 3, 4]
    increments = Increments(layout.increments).all()
    verdicts = [one.verdict.outcome for one in increments if one.verdict]
    assert verdicts == ["passed", "passed", "held", "passed", "passed"]
    assert [one.number for one in increments if one.release] == [3]
    # Each was sealed by the run of its own day, and the release by none of them.
    assert len({one.sealed.run_id for one in increments}) == 5


def test_the_demo_ends_in_a_table_of_so_many_rows(demo: Kept) -> None:
    layout = Layout(demo.root, NAME)
    assert DeltaTable(layout.table).to_pyarrow_table().num_rows == 2014
    assert DeltaTable(layout.rejected).to_pyarrow_table().num_rows == 25


@pytest.fixture
def up(demo: Kept, environ: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`make up` at work on it, and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tidemill.up", f"--port={port}", "--folder", str(demo.folder)],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "/dags" in line:
                break
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def test_the_ui_shows_what_the_demo_left_and_stops_with_all_its_parts(
    up: tuple[subprocess.Popen[str], str], demo: Kept
) -> None:
    process, url = up
    assert process.poll() is None, (demo.home / "up.log").read_text()[-2000:]
    runs = httpx.get(f"{url}/api/v2/dags/{NAME}/dagRuns").json()["dag_runs"]
    assert Counter(run["state"] for run in runs) == {"success": 4, "failed": 1}
    held = next(run["dag_run_id"] for run in runs if run["state"] == "failed")
    links = httpx.get(f"{url}/api/v2/dags/{NAME}/dagRuns/{held}/taskInstances/gate/links").json()
    page = httpx.get(url + links["extra_links"]["Data docs"])
    assert (page.status_code, "quantity" in page.text) == (200, True)

    parts = psutil.Process(process.pid).children(recursive=True)
    assert parts
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    _, alive = psutil.wait_procs(parts, timeout=10)
    assert alive == []


def test_the_demo_is_refused_while_the_ui_is_up(demo: Kept, environ: dict[str, str]) -> None:
    demo.pid_file.write_text(str(os.getpid()))
    try:
        command = [sys.executable, "-m", "tidemill.demo", "--folder", str(demo.folder)]
        assert subprocess.run(command, env=environ, check=False).returncode == 2
    finally:
        demo.pid_file.unlink()
    assert Path(demo.root, NAME).is_dir()
