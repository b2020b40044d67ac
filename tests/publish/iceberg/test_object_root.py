"""An Iceberg table names the files of a root in an object store, whoever reads it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TypeVar

import pytest

from tests.faults.pasts import begin_erasure, read_again
from tests.servers.s3 import LOGIN, PASSWORD, REGION, S3
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, row
from tests.support.histories.net_history_builder import NetHistory, count
from tests.support.iceberg_catalogue import Catalogue
from tests.support.s3_root import new_root
from tidemill.contract.objects.object_path import path_of
from tidemill.contract.report import Outcome
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import erase
from tidemill.storage.root_identity import initialise, register

SECOND = date(2024, 1, 2)
MORE = "publish: [{kind: delta}, {kind: iceberg, table: sales.orders, conn_id: lake}]"


AnyHistory = TypeVar("AnyHistory", bound=History)


def born(history: AnyHistory) -> AnyHistory:
    """Make the root of a history, which is in a bucket."""
    initialise(history.root, environ={})
    register(history.layout)
    return history


@pytest.fixture
def bucket(s3: S3, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty root."""
    return new_root(s3, monkeypatch)


@pytest.fixture
def catalogue(tmp_path: Path, s3: S3, bucket: str, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """An empty catalogue that keeps its metadata in the bucket of the root."""
    store = {
        "s3.endpoint": s3.endpoint,
        "s3.region": REGION,
        "s3.access-key-id": LOGIN,
        "s3.secret-access-key": PASSWORD,
    }
    found = Catalogue(tmp_path, f"{bucket.rpartition('/')[0]}/lake", store)
    connection = {"conn_type": "generic", "extra": found.properties}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(connection))
    return found


@pytest.fixture
def history(tmp_path: Path, bucket: str) -> History:
    """An empty history whose root is in the bucket."""
    return born(History(tmp_path, more=MORE, bucket=bucket))


def test_events_name_the_files_of_the_bucket_and_swaps_take_them_away(
    history: History, catalogue: Catalogue
) -> None:
    history.increment([row(1), row(2, SECOND)])
    assert history.publish().outcome is Outcome.DONE
    made_again(history, [row(20, SECOND)], partitions=days("2024-01-02"))
    assert history.publish("again").outcome is Outcome.DONE
    history.increment([row(3)])
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == history.ids() == [1, 3, 20]
    assert len(catalogue.table().snapshots()) == 3
    assert catalogue.files() == {path_of(uri) for uri in history.delta().file_uris()}


def test_upserts_are_files_of_the_tables_own_storage(
    tmp_path: Path, bucket: str, catalogue: Catalogue
) -> None:
    history = born(NetHistory(tmp_path, more=MORE, bucket=bucket))
    history.increment([count("open", 1, 3), count("close", 1, 1)])
    assert history.publish().outcome is Outcome.DONE
    history.increment([count("open", 1, 4)])
    assert history.publish().outcome is Outcome.DONE
    assert sorted(catalogue.rows("action", "count")) == [("close", 1), ("open", 4)]
    assert all("/lake/" in str(file) for file in catalogue.files())


def test_what_was_read_again_without_a_person_leaves_no_object_of_before(
    tmp_path: Path, bucket: str, s3: S3, catalogue: Catalogue
) -> None:
    more = f"{MORE}\ngate: {{suite: none, rejected: {{hold_above: 0.5}}}}"
    history = born(NetHistory(tmp_path, more=more, bucket=bucket))
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    stored = s3.buckets / path_of(bucket).bucket
    history.increment([count("open", 1, 3), count("close", 1, 1)])
    assert history.publish().outcome is Outcome.DONE
    before = [one for one in stored.rglob("*") if one.name.endswith((".parquet", ".avro"))]
    assert any(one.is_relative_to(stored / "lake") for one in before)
    of_person = Condition({"customer": ("ann@example.org",)}, sources=("orders",))
    begin_erasure(history, of_person)
    read_again(history, [count("open", 1, 2)])
    plan = erase(history.run("again"), of_person, by="ann", reason="a request")
    assert (catalogue.rows("action", "count").total(), plan.unnamed) == (1, ())
    assert [one for one in before if one.exists()] == []
