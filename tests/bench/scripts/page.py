"""Loads the list of pipelines from Airflow's API server, and prints what the second load costs.

    page.py kept|computed

With `computed`, the status documents are taken away before that load.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
sys.path[:0] = [str(REPOSITORY / "spark_jobs"), str(REPOSITORY / "plugins")]


def main(documents: str) -> None:
    from tidemill_airflow.local.metadata import prepare

    prepare()
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    root = Path(os.environ["TIDEMILL_ROOT"])
    with TestClient(create_app(apps="core"), base_url="http://127.0.0.1") as client:
        user = SimpleAuthManagerUser(username="somebody", role="viewer")
        headers = {"Authorization": f"Bearer {get_auth_manager().generate_jwt(user)}"}
        client.get("/tidemill/pipelines", headers=headers).raise_for_status()
        if documents == "computed":
            for path in root.glob("*/status.json"):
                path.unlink()
        wall, cpu = time.perf_counter(), time.process_time()
        page = client.get("/tidemill/pipelines", headers=headers).raise_for_status()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert page.text.count('<th scope="row">') == len(list(root.iterdir()))
    print(json.dumps({"wall": wall, "cpu": cpu, "memory": _most_mb()}))


def _most_mb() -> float:
    """MB that this process had in memory at most; `getrusage` begins with those of its parent."""
    (most,) = re.findall(
        r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE
    )
    return int(most) / 1024


main(*sys.argv[1:])
