"""What the one-shot service of `docker-compose.yaml` does before the others start."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tidemill.metadata import prepare


def write_password(file: Path, password: str) -> None:
    """Write the login of the user `admin` where Airflow's simple auth manager looks for it.

    Args:
        file: `simple_auth_manager_passwords_file`.
        password: The one of `.env`; a changed one holds from the next start on.
    """
    file.touch(mode=0o600)
    file.write_text(json.dumps({"admin": password}) + "\n", encoding="utf-8")


def main() -> int:
    """Create or update the metadata database with our pool, and the login."""
    file = Path(os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"])
    write_password(file, os.environ["ADMIN_PASSWORD"])
    prepare()
    return 0


if __name__ == "__main__":
    sys.exit(main())
