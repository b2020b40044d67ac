"""Files that are delivered to a bucket: each is copied once, whole, before Spark reads it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.servers.flaky_http import Fault, FlakyHttp
from tests.servers.s3 import PASSWORD, S3
from tests.sources.files.objects.conftest import CONN_ID, Deliveries, deliveries_of
from tests.support.histories.history_builder import rows
from tidemill.contract.connections.airflow import variable
from tidemill.contract.errors import TidemillError
from tidemill.contract.objects.client import PART_BYTES
from tidemill.contract.objects.errors import (
    ObjectReplacedMeanwhile,
    ObjectStoreRefuses,
    ObjectStoreUnreachable,
)
from tidemill.sources.files.listing import InputMissing
from tidemill.sources.files.objects.copies import copy_objects
from tidemill.sources.files.objects.fetched import read_fetched
from tidemill.sources.files.objects.object_store import ObjectStore
from tidemill.spec.sources.base import Rating


def test_what_waits_in_the_bucket_is_counted_and_then_copied_once(deliveries: Deliveries) -> None:
    deliveries.put("a.csv", b"id,at\n1,\n")
    deliveries.put("day=2026-03-01/b.csv", b"id,at\n2,\n")
    found = deliveries.probe()
    assert (found.new, found.backlog_bytes, found.facts["not_copied_yet"]) == (2, 18, 2)
    assert found.last_arrival is not None
    assert deliveries.fetch() == ["a.csv", "day=2026-03-01/b.csv"]
    assert (deliveries.copies / "day=2026-03-01" / "b.csv").read_bytes() == b"id,at\n2,\n"
    (deliveries.copies / "a.csv").unlink()
    assert deliveries.fetch() == ["day=2026-03-01/b.csv"]
    deliveries.put("c.csv")
    assert deliveries.fetch() == ["c.csv", "day=2026-03-01/b.csv"]


def test_a_copy_has_the_time_that_the_object_has_in_the_store(deliveries: Deliveries) -> None:
    deliveries.put("a.csv")
    found = deliveries.probe()
    deliveries.fetch()
    copied = datetime.fromtimestamp((deliveries.copies / "a.csv").stat().st_mtime, UTC)
    assert copied == found.last_arrival == deliveries.probe().last_arrival


def test_names_that_spark_passes_over_are_not_copied(s3: S3, tmp_path: Path) -> None:
    deliveries = deliveries_of(s3, tmp_path, ", options: {pathGlobFilter: '*.csv'}")
    for name in ("a.csv", "_SUCCESS", ".b.csv", "_temporary/c.csv", "notes.txt", "ü 100%.csv"):
        deliveries.put(name)
    assert deliveries.fetch() == ["a.csv", "ü 100%.csv"]


@pytest.mark.parametrize("rating", Rating)
def test_new_content_under_an_old_key_is_rated_and_never_copied(
    s3: S3, tmp_path: Path, rating: Rating
) -> None:
    deliveries = deliveries_of(s3, tmp_path, f", redelivered: {rating}")
    deliveries.put("a.csv", b"id,at\n1,\n")
    deliveries.fetch()
    deliveries.put("a.csv", b"id,at\n2,\n")
    found = deliveries.probe()
    assert [(p.error.code, p.rating) for p in found.problems] == [("ObjectReplaced", rating)]
    assert found.problems[0].error.keys == ["a.csv"]
    assert found.facts["not_copied_yet"] == 0
    deliveries.fetch()
    assert (deliveries.copies / "a.csv").read_bytes() == b"id,at\n1,\n"


def test_an_object_that_is_delivered_again_as_it_was_is_no_problem(deliveries: Deliveries) -> None:
    deliveries.put("a.csv")
    deliveries.fetch()
    deliveries.put("a.csv")
    assert deliveries.probe().problems == ()


def test_an_object_that_is_replaced_while_it_is_copied_is_copied_by_the_next_try(
    deliveries: Deliveries,
) -> None:
    deliveries.put("a.csv", b"id,at\n1,\n")
    url = f"s3://{deliveries.bucket}/orders"
    store = ObjectStore("sources.orders.fetch.url", url, CONN_ID, deliveries.environ)
    listed = store.list()
    deliveries.put("a.csv", b"id,at\n2,\n")
    with pytest.raises(ObjectReplacedMeanwhile):
        copy_objects(store, listed, deliveries.copies, "orders")
    assert deliveries.fetch() == ["a.csv"]
    assert (deliveries.copies / "a.csv").read_bytes() == b"id,at\n2,\n"


def test_a_server_that_ignores_the_condition_gives_no_other_content(s3: S3, tmp_path: Path) -> None:
    with (
        S3(signed=False) as unsigned,
        FlakyHttp(unsigned.endpoint, lambda _: "careless").up() as proxy,
    ):
        deliveries = deliveries_of(unsigned, tmp_path, endpoint=proxy.endpoint)
        deliveries.put("a.csv", b"id,at\n1,\n")
        url = f"s3://{deliveries.bucket}/orders"
        store = ObjectStore("sources.orders.fetch.url", url, CONN_ID, deliveries.environ)
        listed = store.list()
        deliveries.put("a.csv", b"id,at\n2,\n")
        with pytest.raises(ObjectReplacedMeanwhile):
            copy_objects(store, listed, deliveries.copies, "orders")


def test_what_a_killed_run_left_half_copied_is_copied_again(deliveries: Deliveries) -> None:
    deliveries.put("a.csv", b"id,at\n1,\n")
    drafts = deliveries.copies / ".orders.tidemill"
    drafts.mkdir(parents=True)
    (drafts / "0").write_bytes(b"id,a")
    (deliveries.copies / "a.csv").write_bytes(b"a copy of which no document knows")
    assert deliveries.fetch() == ["a.csv"]
    assert (deliveries.copies / "a.csv").read_bytes() == b"id,at\n1,\n"


def test_a_directory_that_is_gone_is_a_disk_that_is_not_mounted(deliveries: Deliveries) -> None:
    deliveries.put("a.csv")
    deliveries.fetch()
    deliveries.history.batch(rows(1), inputs=[deliveries.copies / "a.csv"])
    deliveries.copies.rename(deliveries.copies.with_name("disk"))
    with pytest.raises(InputMissing):
        deliveries.probe()


def test_a_store_that_fails_now_and_then_gives_every_byte(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[Fault | None] = ["busy", "slow", None, "cut", "lost", "broken", "slow", "lost"]
    times = {"timeout": timedelta(seconds=3)}
    monkeypatch.setattr("tidemill.contract.objects.client.TIMES", times)

    def fault(number: int) -> Fault | None:
        return faults[number] if number < len(faults) else None

    with FlakyHttp(s3.endpoint, fault).up() as proxy:
        deliveries = deliveries_of(s3, tmp_path, endpoint=proxy.endpoint)
        contents = {f"{n}.csv": b"id,at\n%d,\n" % n * (n * 1000) for n in range(1, 4)}
        contents["big.csv"] = bytes(range(256)) * (PART_BYTES // 256 + 1)
        for name, content in contents.items():
            deliveries.put(name, content)
        assert deliveries.fetch() == sorted(contents)
        assert proxy.requests > len(faults)
    assert {p.name: p.read_bytes() for p in deliveries.copies.iterdir()} == contents


def test_objects_that_are_listed_late_are_copied_once_each_also_after_newer_ones(
    s3: S3, tmp_path: Path
) -> None:
    with FlakyHttp(s3.endpoint, lambda _: None).up() as proxy:
        deliveries = deliveries_of(s3, tmp_path, endpoint=proxy.endpoint)
        for name in ("first.csv", "second.csv"):
            deliveries.put(name, name.encode())
        seen = []
        for late in ({"*/first.csv"}, {"*/second.csv"}, set()):
            proxy.unlisted = late
            waiting = deliveries.probe().facts["not_copied_yet"]
            seen.append((waiting, deliveries.fetch()))
    assert seen == [
        (1, ["second.csv"]),
        (1, ["first.csv", "second.csv"]),
        (0, ["first.csv", "second.csv"]),
    ]


def test_a_store_that_does_not_answer_is_tried_again(s3: S3, tmp_path: Path) -> None:
    with FlakyHttp(s3.endpoint, lambda _: "busy").up() as proxy:
        deliveries = deliveries_of(s3, tmp_path, endpoint=proxy.endpoint)
        with pytest.raises(ObjectStoreUnreachable) as error:
            deliveries.probe()
    assert error.value.transient


@pytest.mark.parametrize(("change", "status"), [("password", 403), ("bucket", 404)])
def test_a_store_that_refuses_is_named_without_a_secret(
    deliveries: Deliveries, change: str, status: int
) -> None:
    login = json.loads(deliveries.environ[variable(CONN_ID)])
    wrong = {**login, "password": "another secret"} if change == "password" else login
    bucket = "no-such-bucket" if change == "bucket" else deliveries.bucket
    store = ObjectStore(
        "sources.orders.fetch.url",
        f"s3a://{bucket}",
        CONN_ID,
        {variable(CONN_ID): json.dumps(wrong)},
    )
    with pytest.raises(ObjectStoreRefuses) as error:
        store.list()
    assert (error.value.status, error.value.field) == (status, "sources.orders.fetch.url")
    shown = str(TidemillError.as_dict(error.value))
    assert PASSWORD not in shown
    assert "another secret" not in shown


def test_the_documents_know_what_each_copy_was(deliveries: Deliveries) -> None:
    deliveries.put("a.csv", b"id,at\n1,\n")
    deliveries.fetch()
    (known,) = read_fetched(deliveries.history.layout, "orders").values()
    assert (known.key, known.size) == ("a.csv", 9)
    assert known.etag
