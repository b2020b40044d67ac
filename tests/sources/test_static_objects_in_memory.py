"""Static inputs in a bucket, copied from a store in this process's memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.memory_buckets import new_root_in_memory
from tidemill.contract.objects.client import ObjectClient
from tidemill.ledger.static_pins import StaticPin
from tidemill.sources.static_files import StaticMissing
from tidemill.sources.static_objects import pin_objects
from tidemill.spec.static_inputs import FileStatic


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> ObjectClient:
    """An empty folder of a bucket."""
    url = new_root_in_memory(monkeypatch).replace("s3a:", "s3:")
    return ObjectClient(url, "statics.ids.fetch.url", None)


def pin(bucket: ObjectClient, place: Path, below: str = "") -> StaticPin:
    fields = {"format": "csv", "fetch": {"url": bucket.url + below}, "schema": "id string"}
    return pin_objects("ids", FileStatic.model_validate(fields), place, {})


def copies(pinned: StaticPin, place: Path) -> dict[str, bytes]:
    folder = place / pinned.identity
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_each_content_of_an_object_has_a_copy_of_its_own(
    bucket: ObjectClient, tmp_path: Path
) -> None:
    bucket.put("a.csv", b"id\n1\n")
    first = pin(bucket, tmp_path)
    assert pin(bucket, tmp_path) == first
    bucket.put("a.csv", b"id\n2\n")
    bucket.put("_hidden.csv", b"id\n3\n")
    second = pin(bucket, tmp_path)
    assert copies(first, tmp_path) == {"a.csv": b"id\n1\n"}
    assert copies(second, tmp_path) == {"a.csv": b"id\n2\n"}


def test_without_an_object_there_is_no_static_input(bucket: ObjectClient, tmp_path: Path) -> None:
    with pytest.raises(StaticMissing):
        pin(bucket, tmp_path)


def test_one_object_may_be_named(
    bucket: ObjectClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put("a.csv", b"id\n1\n")
    bucket.put("b.csv", b"id\n2\n")
    empty = ObjectClient("s3://elsewhere", "statics.ids.fetch.url", None).store
    stores = {bucket.url: bucket.store}
    monkeypatch.setattr(
        "tidemill.contract.objects.client.from_url", lambda url, **_: stores.get(url, empty)
    )
    pinned = pin(bucket, tmp_path, "/b.csv")
    assert copies(pinned, tmp_path) == {"b.csv": b"id\n2\n"}
