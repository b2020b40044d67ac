"""`make up`: an Airflow with its UI on this machine, on what `make demo` left."""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from tidemill.contract.errors import ExitCode, UsageError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.project import REPOSITORY
from tidemill_airflow.local.environment import DEFAULT_PORT, Kept
from tidemill_airflow.local.quiet import quiet
from tidemill_airflow.operators.processes import end_session

PATIENCE = 15.0
OF_SQLITE = (
    "Its database is SQLite, which has one writer at a time. Where the dialog Backfill says that "
    "the database is locked, only some of its runs are there: wait until they have ended, and "
    "start the same backfill again; what is computed already is skipped. For backfills of many "
    "days take PostgreSQL: make env, then docker compose up -d."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Start it, say where it is, and stop all of it on Ctrl-C."""
    parser = argparse.ArgumentParser(prog="make up", description=__doc__)
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", DEFAULT_PORT)))
    parser.add_argument("--folder", type=Path, default=REPOSITORY, help="where all is kept")
    given = parser.parse_args(argv)
    kept = Kept(given.folder.resolve())
    keep_from_others()
    environ = kept.environment(given.port)
    os.environ.update(environ)
    try:
        refuse_if_up(kept)
        _require_free(given.port)
    except UsageError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for folder in (kept.root, kept.input, kept.home):
        folder.mkdir(parents=True, exist_ok=True)
    log = kept.home / "up.log"
    log.unlink(missing_ok=True)
    with quiet(log):
        from tidemill_airflow.local.metadata import prepare

        prepare()
    print(f"Airflow is starting, about half a minute. Its log: {log}", flush=True)
    with _standalone(environ, kept, log) as airflow:
        return follow(airflow, environ["AIRFLOW__API__BASE_URL"], log)


def refuse_if_up(kept: Kept) -> None:
    """Raise UsageError where `make up` is at work: two must not write to one database."""
    try:
        pid = int(kept.pid_file.read_text())
    except (OSError, ValueError):
        return
    if psutil.pid_exists(pid):
        raise UsageError(
            f"`make up` is running here (process {pid}).",
            remedy="Stop it with Ctrl-C first.",
            pid=pid,
        )


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(
                f"Port {port} is taken ({error.strerror}).",
                remedy="Name another: make up PORT=8081.",
                port=port,
            ) from error


@contextlib.contextmanager
def _standalone(
    environ: Mapping[str, str], kept: Kept, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """`airflow standalone` in a session of its own: ended by itself it leaves its parts behind."""
    with log.open("a") as output:
        airflow = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    kept.pid_file.write_text(str(os.getpid()))
    try:
        yield airflow
    finally:
        end_session(airflow.pid, patience=PATIENCE)
        airflow.wait()
        kept.pid_file.unlink(missing_ok=True)


def follow(airflow: subprocess.Popen[bytes], url: str, log: Path) -> int:
    """Say where Airflow is once it answers, and what it cannot carry, and wait until it ends.

    Args:
        url: The address of its API server.
        log: Its output.
    """
    told = False
    try:
        while airflow.poll() is None:
            if not told and _healthy(url):
                told = True
                print(f"Tidemill is up: {url}/dags (Ctrl-C stops it)\n{OF_SQLITE}", flush=True)
            time.sleep(1)
    except KeyboardInterrupt:
        print("\nStopping.", flush=True)
        return ExitCode.DONE
    tail = log.read_text(errors="replace").splitlines()[-20:]
    print("\n".join(("Airflow ended by itself. The end of its log:", *tail)), file=sys.stderr)
    return ExitCode.FAILED


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api/v2/monitor/health", timeout=5) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
