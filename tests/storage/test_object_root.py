"""Documents, lease and identity of a root in an object store that fails as networks do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Thread

import pytest

from tests.servers.flaky_http import Fault, FlakyHttp
from tests.servers.s3 import S3
from tests.support.histories.lease_holders import elsewhere, holder_of, write
from tests.support.processes import wait_for
from tests.support.s3_root import new_root
from tidemill.contract.errors import LeaseHeld, LeaseLost
from tidemill.contract.layout import Layout
from tidemill.contract.objects.errors import ObjectStoreRefuses, ObjectStoreUnreachable
from tidemill.contract.objects.object_path import path_of
from tidemill.storage import documents, heartbeat
from tidemill.storage.epochs import use_up
from tidemill.storage.folders import claim_folder
from tidemill.storage.lease import Released, current_holder, hold, newest_epoch
from tidemill.storage.root_bucket import NoConditionalPut, NoStrongListing
from tidemill.storage.root_identity import (
    PipelineFolderLost,
    RootForeign,
    RootNotInitialised,
    initialise,
    register,
    verify_pipeline,
    verify_root,
)

WRITES = ("PUT",)
IMPATIENT = {"timeout": timedelta(seconds=2)}


@pytest.fixture
def root(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Path:
    return path_of(new_root(s3, monkeypatch))


def document(minute: int) -> Released:
    return Released(at=datetime(2026, 3, 1, 12, minute, tzinfo=UTC))


def failing(how: Fault, times: int) -> Callable[[int], Fault | None]:
    return lambda number: how if number < times else None


def test_the_first_document_stays(root: Path) -> None:
    path = root / "orders" / "lease" / "000001.json"
    assert documents.put_if_absent(path, document(1)) == document(1)
    assert documents.put_if_absent(path, document(2)) == document(1)
    with pytest.raises(documents.AlreadyWritten):
        documents.put(path, document(2))
    documents.replace(path, document(3))
    assert documents.read(path, Released) == document(3)
    assert documents.newest(path.parent) == 1
    assert documents.read(path.with_name("000002.json"), Released) is None


def test_of_writers_at_the_same_time_one_wins(root: Path) -> None:
    path = root / "000001.json"
    barrier = Barrier(8)
    found: dict[int, Released] = {}

    def put(minute: int) -> None:
        barrier.wait()
        found[minute] = documents.put_if_absent(path, document(minute))

    threads = [Thread(target=put, args=(minute,)) for minute in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.at for one in found.values()}) == 1
    assert documents.read(path, Released) in found.values()


@pytest.mark.parametrize("fault", ["lost", "slow", "broken", "busy"])
def test_a_put_that_fails_on_its_way_is_ours_all_the_same(
    fault: Fault, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.contract.objects.client.TIMES", IMPATIENT)
    with FlakyHttp(s3.endpoint, failing(fault, 2), methods=WRITES).up() as proxy:
        path = path_of(new_root(s3, monkeypatch, proxy.endpoint)) / "000001.json"
        documents.put(path, document(1))
        assert documents.read(path, Released) == document(1)
        assert proxy.requests > 2


def test_after_a_lost_reply_the_document_of_another_writer_is_not_taken_for_ours(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FlakyHttp(s3.endpoint, failing("lost", 1), methods=WRITES).up() as proxy:
        url = new_root(s3, monkeypatch, proxy.endpoint)
        path = path_of(url) / "000001.json"
        s3.put(path.bucket, path.key, document(2).content().encode())
        assert documents.put_if_absent(path, document(1)) == document(2)


def test_a_store_that_stays_away_is_a_transient_error(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.contract.objects.client.RETRIES", {"max_retries": 0})
    monkeypatch.setattr("tidemill.contract.objects.client.PUT_PAUSE_SECONDS", 0.01)
    with FlakyHttp(s3.endpoint, lambda _: "broken", methods=WRITES).up() as proxy:
        path = path_of(new_root(s3, monkeypatch, proxy.endpoint)) / "000001.json"
        with pytest.raises(ObjectStoreUnreachable) as error:
            documents.put(path, document(1))
    assert error.value.transient
    assert error.value.field == "TIDEMILL_ROOT"


def test_a_wrong_password_is_refused_without_being_told(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.servers.s3.PASSWORD", "a wrong secret")
    path = path_of(new_root(s3, monkeypatch)) / "000001.json"
    with pytest.raises(ObjectStoreRefuses) as error:
        documents.put(path, document(1))
    assert error.value.status == 403
    assert "a wrong secret" not in str(error.value)


def test_one_process_holds_the_lease_and_the_next_one_takes_the_next_epoch(root: Path) -> None:
    folder = root / "orders" / "lease"
    with hold(folder, step="ingest", run_id="one") as lease:
        lease.check()
        assert current_holder(folder).run_id == "one"
        with pytest.raises(LeaseHeld), hold(folder, step="gate", run_id="two", patience=0):
            pass
    assert current_holder(folder) is None
    with hold(folder, step="gate", run_id="two") as lease:
        assert lease.epoch == newest_epoch(folder) == 2


def test_a_holder_on_another_host_is_fenced_out_once_it_is_silent(root: Path) -> None:
    folder = root / "orders" / "lease"
    write(folder, holder_of(elsewhere(), epoch=1))
    with hold(folder, step="gate", run_id="two", patience=0, time_limit=1) as lease:
        assert lease.epoch == 2
        write(folder, holder_of(elsewhere(), epoch=3))
        with pytest.raises(LeaseLost):
            lease.check()


def test_heartbeats_go_on_when_the_store_is_back(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr("tidemill.contract.objects.client.RETRIES", {"max_retries": 0})
    away: set[str] = set()
    faults: Callable[[int], Fault | None] = lambda _: "broken" if away else None  # noqa: E731
    with FlakyHttp(s3.endpoint, faults, methods=WRITES).up() as proxy:
        folder = path_of(new_root(s3, monkeypatch, proxy.endpoint)) / "lease"
        with hold(folder, step="ingest", run_id="one") as lease:
            away.add("the store")
            wait_for(lambda: lease.heartbeat.failed > 1)
            away.clear()
            sent = proxy.requests
            wait_for(lambda: proxy.requests > sent + 2)
            lease.check()


def test_epochs_that_were_given_out_before_the_lease_was_lost_are_used_up(root: Path) -> None:
    folder = root / "orders" / "lease"
    assert use_up(folder, 4, "repair") == 4
    with hold(folder, step="gate", run_id="next") as lease:
        assert lease.epoch == 5


def test_of_processes_that_claim_a_folder_one_has_it(root: Path) -> None:
    folder = root / "checkpoints" / "live-0002"
    barrier = Barrier(4)
    refused = []

    def claim() -> None:
        barrier.wait()
        try:
            claim_folder(folder)
        except FileExistsError as error:
            refused.append(error)

    threads = [Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3


def test_a_claim_is_ours_although_the_answer_to_it_was_lost(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FlakyHttp(s3.endpoint, failing("lost", 1), methods=WRITES).up() as proxy:
        folder = path_of(new_root(s3, monkeypatch, proxy.endpoint)) / "live-0002"
        claim_folder(folder)
        assert proxy.requests > 1
        with pytest.raises(FileExistsError):
            claim_folder(folder)


def test_only_init_makes_a_root_in_a_bucket(root: Path) -> None:
    with pytest.raises(RootNotInitialised):
        verify_root(root, {})
    own = initialise(root, environ={})
    assert verify_root(root, {}) is None
    assert verify_root(root, {"TIDEMILL_ROOT_ID": own.id}) is None
    with pytest.raises(RootForeign):
        verify_root(root, {"TIDEMILL_ROOT_ID": "another"})
    assert not list(root.rglob("*probe*"))


def test_a_pipeline_that_was_born_in_a_bucket_is_missed_there(root: Path) -> None:
    layout = Layout(root, "orders")
    verify_pipeline(layout)
    register(layout)
    with pytest.raises(PipelineFolderLost):
        verify_pipeline(layout)


@pytest.mark.usefixtures("child_jvm")
def test_a_store_that_overwrites_what_was_written_once_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with S3(signed=False) as s3:
        proxy = FlakyHttp(s3.endpoint, lambda _: "careless", WRITES)
        with proxy.up():
            root = path_of(new_root(s3, monkeypatch, proxy.endpoint))
            for use in (initialise, verify_root):
                with pytest.raises(NoConditionalPut) as refused:
                    use(root)
                assert refused.value.root == str(root)
            assert list(root.rglob("*")) == []


def test_a_store_that_does_not_list_what_it_has_is_refused(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FlakyHttp(s3.endpoint, lambda _: None).up() as proxy:
        root = path_of(new_root(s3, monkeypatch, proxy.endpoint))
        initialise(root, environ={})
        proxy.unlisted = {"*/probe-*"}
        for use in (initialise, verify_root):
            with pytest.raises(NoStrongListing) as refused:
                use(root)
            assert refused.value.root == str(root)
        proxy.unlisted = set()
        assert verify_root(root, {}) is None
        assert not list(root.rglob("*probe*"))
