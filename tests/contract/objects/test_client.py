"""What a client makes of an object that changed, and of a store's answers."""

from __future__ import annotations

import io

import pytest
from obstore.exceptions import GenericError

from tests.support.memory_buckets import new_root_in_memory
from tidemill.contract.objects.client import ObjectClient
from tidemill.contract.objects.errors import (
    ObjectReplacedMeanwhile,
    ObjectStoreRefuses,
    ObjectStoreUnreachable,
)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ObjectClient:
    return ObjectClient(new_root_in_memory(monkeypatch), "sources.orders.fetch.url", None)


def test_an_object_is_read_as_it_was_listed(
    client: ObjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.contract.objects.client.PART_BYTES", 4)
    client.put("a.csv", b"in three parts")
    into = io.BytesIO()
    client.read(client.head("a.csv"), into)
    assert into.getvalue() == b"in three parts"


@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_what_changed_since_it_was_listed_is_not_read(client: ObjectClient, change: str) -> None:
    client.put("a.csv", b"old")
    (listed,) = client.objects()
    client.delete(["a.csv"])
    if change == "replaced":
        client.put("a.csv", b"new")
    with pytest.raises(ObjectReplacedMeanwhile) as error:
        client.read(listed, io.BytesIO())
    assert (error.value.key, error.value.transient) == ("a.csv", True)


@pytest.mark.parametrize("status", [403, 404, 501])
def test_a_stores_refusal_is_no_outage(client: ObjectClient, status: int) -> None:
    with pytest.raises(ObjectStoreRefuses) as error, client.errors("write"):
        raise GenericError(f"Server returned non-2xx status code: {status}: no")
    assert (error.value.status, error.value.transient) == (status, False)


@pytest.mark.parametrize("said", ["status code: 429", "status code: 503", "connection reset"])
def test_a_store_that_asks_for_patience_is_asked_again(client: ObjectClient, said: str) -> None:
    with pytest.raises(ObjectStoreUnreachable) as error, client.errors():
        raise GenericError(f"after 3 tries: {said}")
    assert error.value.transient
