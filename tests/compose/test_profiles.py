"""The profiles of docker-compose.yaml, and the limits to what each service takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compose.composition import Composition, written_env
from tidemill.contract.project import REPOSITORY

OF_CELERY = {"airflow-worker", "valkey"}
OF_MONITORING = {"statsd-exporter", "prometheus", "grafana"}
# What the smallest machine has that two workers of two cores make sense on.
CORES = 2.0


@pytest.fixture
def everything(tmp_path: Path) -> Composition:
    return Composition(written_env(tmp_path), ["celery", "monitoring"])


def test_each_profile_adds_its_services_and_nothing_waits_for_one_that_is_off(
    everything: Composition,
) -> None:
    plain = set(Composition(everything.environ).services)
    for profile, own in (("celery", OF_CELERY), ("monitoring", OF_MONITORING)):
        composition = Composition(everything.environ, [profile])
        assert composition.services.keys() - plain == own
        # It fails where one waits for a service that is not there.
        assert set(composition.in_order()) == plain | own
    assert plain.isdisjoint(OF_CELERY | OF_MONITORING)
    assert set(Composition(everything.environ).in_order()) == plain


def test_no_service_may_use_more_cores_than_a_small_machine_has(everything: Composition) -> None:
    limits = {name: float(of["cpus"]) for name, of in everything.services.items()}
    assert {name for name, cores in limits.items() if not 0 < cores <= CORES} == set()
    command = everything.services["spark-worker"]["command"]
    assert limits["spark-worker"] == float(command[command.index("--cores") + 1])


def test_scheduler_and_worker_agree_on_queue_and_results(everything: Composition) -> None:
    scheduler, worker = (
        everything.environment(name) for name in ("airflow-scheduler", "airflow-worker")
    )
    assert scheduler == worker
    password = everything.environment("valkey")["VALKEYCLI_AUTH"]
    port = everything.environment("valkey")["VALKEY_PORT"]
    assert worker["AIRFLOW__CELERY__BROKER_URL"] == f"redis://:{password}@valkey:{port}/0"
    metadata = worker["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    assert worker["AIRFLOW__CELERY__RESULT_BACKEND"] == f"db+{metadata}"
    assert not any(password in word for word in everything.services["valkey"]["command"])


def test_metrics_go_from_airflow_to_prometheus_and_grafana(everything: Composition) -> None:
    airflow = everything.environment("airflow-scheduler")
    exporter = everything.services["statsd-exporter"]["command"]
    assert airflow["AIRFLOW__METRICS__STATSD_HOST"] == "statsd-exporter"
    assert f"--statsd.listen-udp=:{airflow['AIRFLOW__METRICS__STATSD_PORT']}" in exporter
    # Its tags are those that statsd_exporter turns into labels.
    assert airflow["AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED"] == "True"

    mounts = {name: mounted(everything, name) for name in ("prometheus", "grafana")}
    settings = read(mounts["prometheus"]["/etc/prometheus/prometheus.yaml"])
    (target,) = settings["scrape_configs"][0]["static_configs"][0]["targets"]
    assert f"--web.listen-address={target.removeprefix('statsd-exporter')}" in exporter
    for rules in settings["rule_files"]:
        assert mounts["prometheus"][f"/etc/prometheus/{rules}"].exists()

    (source,) = read(mounts["grafana"]["/etc/grafana/provisioning/datasources/tidemill.yaml"])[
        "datasources"
    ]
    check = everything.services["prometheus"]["healthcheck"]["test"][-1]
    assert source["url"] == check.replace("localhost", "prometheus").removesuffix("/-/healthy")
    (folder,) = read(mounts["grafana"]["/etc/grafana/provisioning/dashboards/tidemill.yaml"])[
        "providers"
    ]
    boards = [place for place in mounts["grafana"] if place.endswith(".json")]
    assert [str(Path(place).parent) for place in boards] == [folder["options"]["path"]]


def mounted(composition: Composition, service: str) -> dict[str, Path]:
    """Where a service sees a file of the repository -> the file."""
    pairs = (one.split(":") for one in composition.services[service]["volumes"])
    return {there: REPOSITORY / here for here, there, *_ in pairs if here.startswith("./")}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
