"""What `make up` says once its Airflow answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tidemill.contract.errors import ExitCode
from tidemill.contract.project import REPOSITORY
from tidemill_airflow.local.up import follow


@pytest.fixture
def standalone() -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of `airflow standalone`, which ends when its input does."""
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield process


@pytest.fixture
def url(standalone: subprocess.Popen[bytes]) -> Iterator[str]:
    """An API server that answers once that it is healthy, and then ends with the process."""

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/api/v2/monitor/health" else 404)
            self.end_headers()
            assert standalone.stdin is not None
            standalone.stdin.close()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Health) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_it_says_where_the_pages_are_and_what_its_database_cannot_carry(
    standalone: subprocess.Popen[bytes],
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = tmp_path / "up.log"
    log.write_text("the last words of Airflow\n")
    assert follow(standalone, url, log) == ExitCode.FAILED
    said = capsys.readouterr()
    assert f"{url}/dags" in said.out
    # One writer at a time: a backfill may be created in part, and what to do then.
    for words in ("SQLite", "one writer", "Backfill", "same backfill again", "PostgreSQL"):
        assert words in said.out
    assert "the last words of Airflow" in said.err


def test_the_way_to_postgresql_that_it_names_is_there() -> None:
    assert "\nenv:" in (REPOSITORY / "Makefile").read_text()
    assert "postgres" in (REPOSITORY / "docker-compose.yaml").read_text()
