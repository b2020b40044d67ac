"""`make env`: the secrets and settings of `docker-compose.yaml`, made up once, in `.env`.

Standard library only, and none of our own modules: whoever prefers containers may have no `.venv`.
"""

from __future__ import annotations

import argparse
import base64
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def variables() -> dict[str, str]:
    """Every variable that `docker-compose.yaml` uses, the secrets made up afresh.

    No value holds a `$`, a quote or anything else that Compose, JSON or a URL would read otherwise.
    """
    return {
        # Whom files of the containers belong to: this user, as Airflow and Spark share them.
        "TIDEMILL_UID": str(os.getuid()),
        "AIRFLOW_PORT": "8080",
        "SPARK_PORT": "8081",
        "KAFKA_PORT": "9092",
        "POSTGRES_PORT": "5432",
        "S3_PORT": "9000",
        "GRAFANA_PORT": "3000",
        # CeleryExecutor with `--profile celery`.
        "AIRFLOW_EXECUTOR": "LocalExecutor",
        # True with `--profile monitoring`: without its receiver Airflow logs that there is none.
        "STATSD_ON": "False",
        "ADMIN_PASSWORD": secrets.token_urlsafe(18),
        "POSTGRES_PASSWORD": secrets.token_urlsafe(32),
        "WAREHOUSE_PASSWORD": secrets.token_urlsafe(32),
        "S3_PASSWORD": secrets.token_urlsafe(32),
        "VALKEY_PASSWORD": secrets.token_urlsafe(32),
        "FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "API_SECRET_KEY": secrets.token_hex(32),
        # HS512 wants a key of 64 bytes.
        "JWT_SECRET": secrets.token_hex(64),
    }


def read(text: str) -> dict[str, str]:
    """The variables of an `.env` file."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def write(path: Path) -> bool:
    """Write the file for its owner alone, and whole or not at all.

    Returns:
        Whether it was written; one that is there stays as it is.
    """
    draft = path.with_name(f".env.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - it is open already
            file.write("# Written by `make env`; never overwritten. Keep it to yourself.\n")
            file.writelines(f"{name}={value}\n" for name, value in variables().items())
        # Unlike a rename, a link fails where somebody was there first.
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Write `.env` unless it is there, and make the folders that the containers read."""
    parser = argparse.ArgumentParser(prog="make env", description=__doc__)
    parser.add_argument("--folder", type=Path, default=REPOSITORY, help="of docker-compose.yaml")
    folder = parser.parse_args(argv).folder
    # Docker would make them for root.
    for mounted in ("input", "project"):
        (folder / ".tidemill" / mounted).mkdir(parents=True, exist_ok=True)
    path = folder / ".env"
    if write(path):
        print(f"Wrote {path}: its ADMIN_PASSWORD is for the user admin of the UI.")
        return 0
    missing = sorted(variables().keys() - read(path.read_text(encoding="utf-8")).keys())
    if missing:
        print(
            f"{path} is there, and was written for an older docker-compose.yaml: it lacks "
            f"{', '.join(missing)}. Add them, or move it away and run `make env` again.",
            file=sys.stderr,
        )
        return 2
    print(f"{path} is there, and stays as it is.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
