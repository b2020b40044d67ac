"""What the one-shot service of `docker-compose.yaml` does before the others start."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tidemill.storage.root_identity import initialise
from tidemill_airflow.local.metadata import prepare


def write_password(file: Path, password: str) -> None:
    """Write the login of the user `admin` where Airflow's simple auth manager looks for it.

    Args:
        file: `simple_auth_manager_passwords_file`.
        password: The one of `.env`; a changed one holds from the next start on.
    """
    file.touch(mode=0o600)
    file.write_text(json.dumps({"admin": password}) + "\n", encoding="utf-8")


def make_root(root: Path, made: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Make the root, once; one that is lost later is for a person: `tidemill init`.

    Args:
        made: A file of another volume, which is there from then on.
        environ: With the identity that the root gets.
    """
    if not made.exists():
        initialise(root, environ=environ)
        made.touch()


def main() -> int:
    """Create or update the metadata database with our pool, and the login; make the root."""
    make_root(Path(os.environ["TIDEMILL_ROOT"]), Path(os.environ["AIRFLOW_HOME"], "root-is-made"))
    file = Path(os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"])
    write_password(file, os.environ["ADMIN_PASSWORD"])
    prepare()
    return 0


if __name__ == "__main__":
    sys.exit(main())
