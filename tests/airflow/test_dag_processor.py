"""What Airflow's DAG processor makes of specs, read back through the REST API."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.conftest import NAME
from tests.support.spec_text import minimal
from tidemill_airflow.integrity import DAG_FILE

BROKEN = "specs/broken.yaml"
UNGATED = "shown"
READER = "reports"
TABLE = f"""
sources:
  rows: {{kind: table, pipeline: {NAME}, schema: id string}}
wake: {{tables: {{}}}}
"""


@pytest.fixture(scope="module")
def api(airflow_database: None) -> Iterator[Any]:
    """Airflow's own API server, asked by an administrator."""
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    with TestClient(create_app(apps="core"), base_url="http://127.0.0.1/api/v2") as client:
        user = SimpleAuthManagerUser(username="somebody", role="admin")
        client.headers["Authorization"] = f"Bearer {get_auth_manager().generate_jwt(user)}"
        yield client


@pytest.fixture(scope="module")
def dags(airflow_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The DAG folder of somebody's own Airflow, processed: our DAG file, and their specs."""
    project = tmp_path_factory.mktemp("project")
    folder = project / "dags"
    (folder / "specs").mkdir(parents=True)
    shutil.copy(DAG_FILE, folder)
    (folder / "specs" / f"{NAME}.yaml").write_text(minimal("schedule: '@daily'\n"))
    (folder / "specs" / f"{UNGATED}.yaml").write_text(
        minimal("schedule: '@daily'\nsink: {kind: console}\n")
    )
    (folder / "specs" / f"{READER}.yaml").write_text(TABLE)
    (folder / BROKEN).write_text(minimal("schedul: '@daily'\n"))
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("TIDEMILL_PROJECTS", str(project))
        process(folder)
        yield folder


def process(dags: Path) -> None:
    """Let the DAG processor look at every file once."""
    subprocess.run(
        [sys.executable, "-m", "airflow", "dag-processor", "--num-runs", "1"],
        env={**os.environ, "AIRFLOW__CORE__DAGS_FOLDER": str(dags)},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def import_errors(api: Any) -> dict[str, str]:
    errors = api.get("importErrors").json()["import_errors"]
    return {error["filename"]: error["stack_trace"] for error in errors}


def healthy_dags(api: Any) -> set[str]:
    answer = api.get("dags", params={"exclude_stale": True}).json()
    return {dag["dag_id"] for dag in answer["dags"] if not dag["has_import_errors"]}


def test_a_broken_spec_is_an_import_error_of_its_own_file(api: Any, dags: Path) -> None:
    errors = import_errors(api)
    assert set(errors) == {BROKEN}
    assert f"{BROKEN}:9" in errors[BROKEN]
    assert "'schedule'" in errors[BROKEN]


def test_it_leaves_the_other_dags_alone(api: Any, dags: Path) -> None:
    assert healthy_dags(api) >= {NAME, "retail", "shop_orders"}
    assert "broken" not in healthy_dags(api)


DAYS = {"from_date": "2026-03-01T00:00:00Z", "to_date": "2026-03-03T00:00:00Z"}


def test_a_backfill_makes_a_run_of_each_day(api: Any, dags: Path) -> None:
    answer = api.post("backfills/dry_run", json={"dag_id": NAME, **DAYS})
    assert [run["logical_date"] for run in answer.json()["backfills"]] == [
        f"2026-03-0{day}T00:00:00Z" for day in (1, 2, 3)
    ]


@pytest.mark.parametrize("dag_id", [UNGATED, f"{NAME}__resolve"])
def test_a_backfill_of_what_cannot_be_swapped_is_refused_with_one_sentence(
    api: Any, dags: Path, dag_id: str
) -> None:
    answer = api.post("backfills", json={"dag_id": dag_id, **DAYS})
    assert answer.status_code == 400
    assert dag_id in answer.json()["detail"]
    assert api.get(f"dags/{dag_id}/dagRuns").json()["total_entries"] == 0


@pytest.mark.parametrize(
    ("dag_id", "conf", "status"),
    [
        (NAME, {"mode": "backfill", "from": "2026-03-01", "to": "2026-03-02"}, 200),
        (NAME, {"mode": "rebuild"}, 400),
        (f"{NAME}__resolve", {"action": "release", "increment": 3, "reason": "closed"}, 200),
        (f"{NAME}__resolve", {"action": "release", "increment": 3}, 400),
    ],
)
def test_a_run_is_started_with_a_form_that_is_filled_in(
    api: Any, dags: Path, dag_id: str, conf: dict[str, Any], status: int
) -> None:
    answer = api.post(f"dags/{dag_id}/dagRuns", json={"logical_date": None, "conf": conf})
    assert answer.status_code == status, answer.json()


def test_a_resolve_dag_is_not_paused_at_its_creation(api: Any, dags: Path) -> None:
    found = {dag["dag_id"]: dag["is_paused"] for dag in api.get("dags").json()["dags"]}
    assert (found[NAME], found[f"{NAME}__resolve"]) == (True, False)


def test_airflows_graph_has_an_edge_from_a_pipeline_to_the_one_that_reads_its_table(
    api: Any, dags: Path
) -> None:
    graph = api.get("http://127.0.0.1/ui/dependencies", params={"node_id": f"dag:{READER}"}).json()
    edges = {(edge["source_id"], edge["target_id"]) for edge in graph["edges"]}
    table = f"asset-alias:tidemill.{NAME}"
    assert {(f"dag:{NAME}", table), (table, f"dag:{READER}")} <= edges


def listed(api: Any, **filters: str) -> set[str]:
    """The DAGs in the list of Airflow's UI."""
    answer = api.get("http://127.0.0.1/ui/dags", params={"exclude_stale": True, **filters})
    return {dag["dag_id"] for dag in answer.json()["dags"]}


def test_the_list_of_dags_shows_a_pipeline_once(api: Any, dags: Path) -> None:
    found = listed(api, tags="tidemill")
    assert {NAME, UNGATED, "retail"} <= found == listed(api)
    assert not any(dag_id.endswith("__resolve") for dag_id in found)


@pytest.mark.parametrize(
    "filters", [{"dag_display_name_pattern": f"{NAME}__res"}, {"tags": "resolve"}]
)
def test_whoever_looks_for_a_resolve_dag_finds_it(
    api: Any, dags: Path, filters: dict[str, str]
) -> None:
    found = listed(api, **filters)
    assert f"{NAME}__resolve" in found
    assert all(dag_id.endswith("__resolve") for dag_id in found)


def test_a_mended_spec_is_a_dag_and_no_error_any_more(api: Any, dags: Path) -> None:
    (dags / BROKEN).write_text(minimal())
    process(dags)
    assert import_errors(api) == {}
    assert "broken" in healthy_dags(api)
