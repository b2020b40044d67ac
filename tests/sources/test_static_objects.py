"""Static inputs in a bucket: copied as they are now, and known again by their etags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers.flaky_http import Fault, FlakyHttp
from tests.servers.s3 import S3
from tidemill.contract.connections.airflow import variable
from tidemill.contract.objects.errors import ObjectReplacedMeanwhile, ObjectStoreUnreachable
from tidemill.ledger.static_pins import StaticPin
from tidemill.sources import static_objects
from tidemill.sources.static_files import StaticMissing
from tidemill.sources.static_objects import pin_objects
from tidemill.spec.static_inputs import FileStatic

CONN_ID = "lookups"


@dataclass(frozen=True)
class Lookups:
    """A bucket with a folder `ids`, and the place of its copies."""

    server: S3
    bucket: str
    environ: Mapping[str, str]
    place: Path

    def put(self, name: str, content: bytes = b"id\n1\n") -> None:
        self.server.put(self.bucket, f"ids/{name}", content)

    def pin(self, below: str = "ids", **options: str) -> StaticPin:
        fetch = {"url": f"s3://{self.bucket}/{below}".rstrip("/"), "conn_id": CONN_ID}
        fields = {"format": "csv", "fetch": fetch, "schema": "id string", "options": options}
        static = FileStatic.model_validate(fields)
        return pin_objects("ids", static, self.place, self.environ)

    def copies(self, pin: StaticPin) -> dict[str, bytes]:
        folder = self.place / pin.identity
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def lookups_of(server: S3, place: Path, endpoint: str | None = None) -> Lookups:
    environ = {variable(CONN_ID): server.connection_at(endpoint or server.endpoint)}
    return Lookups(server, server.fresh_bucket(), environ, place)


@pytest.fixture
def lookups(s3: S3, tmp_path: Path) -> Lookups:
    return lookups_of(s3, tmp_path)


def test_the_same_objects_are_copied_once(lookups: Lookups) -> None:
    lookups.put("a.csv")
    first = lookups.pin()
    folder = lookups.place / first.identity
    inode = folder.stat().st_ino
    assert lookups.pin() == first
    assert folder.stat().st_ino == inode
    assert lookups.copies(first) == {"a.csv": b"id\n1\n"}
    (file,) = first.files
    assert file.etag
    assert first.missing_in(folder) is None


def test_a_copy_stays_as_it_was_when_its_object_is_replaced_or_deleted(lookups: Lookups) -> None:
    lookups.put("a.csv")
    first = lookups.pin()
    lookups.put("a.csv", b"id\n2\n")
    second = lookups.pin()
    lookups.server.delete(lookups.bucket, "ids/a.csv")
    assert lookups.copies(first) == {"a.csv": b"id\n1\n"}
    assert lookups.copies(second) == {"a.csv": b"id\n2\n"}
    assert [pin.missing_in(lookups.place / pin.identity) for pin in (first, second)] == [None, None]


def test_a_copy_that_is_not_whole_is_copied_again(lookups: Lookups) -> None:
    lookups.put("a.csv")
    pin = lookups.pin()
    (lookups.place / pin.identity / "a.csv").unlink()
    assert lookups.pin() == pin
    assert lookups.copies(pin) == {"a.csv": b"id\n1\n"}


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["a.csv", "notes.txt"]),
        ({"pathGlobFilter": "*.csv"}, ["a.csv"]),
        ({"recursiveFileLookup": "true"}, ["a.csv", "more/b.csv", "notes.txt"]),
    ],
)
def test_the_files_are_those_that_spark_would_read_on_a_disk(
    lookups: Lookups, options: dict[str, str], names: list[str]
) -> None:
    for name in ("a.csv", "notes.txt", "more/b.csv", "_SUCCESS", "_temporary/c.csv", ".d.csv"):
        lookups.put(name)
    assert sorted(lookups.copies(lookups.pin(**options))) == names


def test_partition_folders_are_copied_as_they_are(lookups: Lookups) -> None:
    for name in ("country=GB/a.csv", "country=FR/b.csv", "beside.csv"):
        lookups.put(name)
    assert sorted(lookups.copies(lookups.pin())) == ["country=FR/b.csv", "country=GB/a.csv"]


def test_the_url_may_be_that_of_one_object_or_of_the_whole_bucket(lookups: Lookups) -> None:
    lookups.put("a.csv")
    lookups.put("b.csv")
    assert list(lookups.copies(lookups.pin("ids/a.csv"))) == ["a.csv"]
    lookups.server.put(lookups.bucket, "whole.csv", b"id\n3\n")
    assert lookups.copies(lookups.pin("")) == {"whole.csv": b"id\n3\n"}


@pytest.mark.parametrize("below", ["", "nowhere", "ids/nowhere.csv"])
def test_nothing_to_read_is_refused(lookups: Lookups, below: str) -> None:
    lookups.put(".hidden.csv")
    with pytest.raises(StaticMissing) as missing:
        lookups.pin(below)
    assert missing.value.static == "ids"


def test_an_object_that_is_replaced_while_it_is_copied_is_copied_by_the_next_try(
    lookups: Lookups, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups.put("a.csv")
    copy_objects = static_objects.copy_objects

    def replaced_first(*given: Any) -> None:
        lookups.put("a.csv", b"id\n2\n")
        copy_objects(*given)

    with monkeypatch.context() as patched:
        patched.setattr(static_objects, "copy_objects", replaced_first)
        with pytest.raises(ObjectReplacedMeanwhile):
            lookups.pin()
    assert lookups.copies(lookups.pin()) == {"a.csv": b"id\n2\n"}


def test_a_store_that_fails_now_and_then_gives_every_byte(s3: S3, tmp_path: Path) -> None:
    faults: list[Fault | None] = ["busy", "broken", None, "cut", "lost", "busy", None]

    def fault(number: int) -> Fault | None:
        return faults[number] if number < len(faults) else None

    with FlakyHttp(s3.endpoint, fault).up() as proxy:
        lookups = lookups_of(s3, tmp_path, proxy.endpoint)
        contents = {f"{n}.csv": b"%d\n" % n * (n * 1000) for n in range(1, 4)}
        for name, content in contents.items():
            lookups.put(name, content)
        assert lookups.copies(lookups.pin()) == contents
        assert proxy.requests > len(faults)


def test_a_store_that_does_not_answer_is_tried_again(s3: S3, tmp_path: Path) -> None:
    with (
        FlakyHttp(s3.endpoint, lambda _: "busy").up() as proxy,
        pytest.raises(ObjectStoreUnreachable) as error,
    ):
        lookups_of(s3, tmp_path, proxy.endpoint).pin()
    assert (error.value.field, error.value.transient) == ("statics.ids.fetch.url", True)
