"""The client against Microsoft's emulator of Azure's object store."""

from __future__ import annotations

import base64
import io
from threading import Barrier, Thread

import pytest

from tests.servers.azurite import Azurite
from tidemill.contract.connections.airflow import connection, variable
from tidemill.contract.objects.client import ObjectClient
from tidemill.contract.objects.errors import ObjectReplacedMeanwhile, ObjectStoreRefuses

FIELD = "sources.orders.fetch.url"


def client_of(azurite: Azurite, container: str, key: str = "") -> ObjectClient:
    login = connection("az", {variable("az"): azurite.connection(key)})
    return ObjectClient(f"az://{container}", FIELD, login)


@pytest.fixture
def client(azurite: Azurite) -> ObjectClient:
    return client_of(azurite, azurite.fresh_container())


def test_objects_are_listed_with_what_tells_their_contents_apart(client: ObjectClient) -> None:
    client.put("in/ü 1.csv", b"id\n1\n")
    client.put("in/deep/2.csv", b"id\n2\n")
    found = {one.key: one for one in client.objects("in")}
    assert {key: one.size for key, one in found.items()} == {"in/ü 1.csv": 5, "in/deep/2.csv": 5}
    assert client.names("in")[0] == ["in/deep"]
    for key, one in found.items():
        assert client.head(key).has_etag_of(one)
    client.put("in/ü 1.csv", b"id\n3\n")
    assert not client.head("in/ü 1.csv").has_etag_of(found["in/ü 1.csv"])


def test_an_object_is_read_in_parts_unless_it_was_replaced(
    client: ObjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.contract.objects.client.PART_BYTES", 4)
    client.put("a.csv", b"in three parts")
    (listed,) = client.objects()
    into = io.BytesIO()
    client.read(listed, into)
    assert into.getvalue() == b"in three parts"
    client.put("a.csv", b"of other words")
    with pytest.raises(ObjectReplacedMeanwhile):
        client.read(listed, io.BytesIO())


def test_of_writers_at_the_same_time_one_creates_an_object(client: ObjectClient) -> None:
    barrier, created = Barrier(8), list[bytes]()

    def create(content: bytes) -> None:
        barrier.wait()
        if client.create("lease/000001.json", content):
            created.append(content)

    threads = [Thread(target=create, args=(b"%d" % number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert created == [client.get("lease/000001.json")]


def test_an_object_is_written_in_parts_copied_and_removed(client: ObjectClient) -> None:
    writer = client.writer("big")
    for byte in (b"x", b"y"):
        writer.write(byte * 6 * 2**20)
    writer.close()
    client.copy("big", "copy")
    assert client.get("copy") == b"x" * 6 * 2**20 + b"y" * 6 * 2**20
    client.delete(["big", "copy"])
    assert client.objects() == []


@pytest.mark.parametrize("wrong", ["key", "container"])
def test_a_wrong_key_or_container_is_refused_without_being_told(
    azurite: Azurite, wrong: str
) -> None:
    key = base64.b64encode(b"another").decode() if wrong == "key" else ""
    container = azurite.fresh_container() if wrong == "key" else "missing"
    with pytest.raises(ObjectStoreRefuses) as error:
        client_of(azurite, container, key).objects()
    assert error.value.status == (403 if wrong == "key" else 404)
    assert azurite.key not in str(error.value)
