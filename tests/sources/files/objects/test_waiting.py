"""What of a bucket's listing is new, replaced, or cannot be a file."""

from __future__ import annotations

from datetime import UTC, datetime

from tidemill.contract.objects.found_object import FoundObject
from tidemill.sources.files.objects.fetched import FetchedObject
from tidemill.sources.files.objects.waiting import Waiting, compare
from tidemill.spec.sources.file import FileSource

AT = datetime(2026, 3, 1, tzinfo=UTC)
SOURCE = FileSource.model_validate(
    {
        "format": "csv",
        "path": "/in",
        "schema": "id long",
        "fetch": {"url": "s3://deliveries/orders"},
    }
)


def found(key: str, size: int = 1, etag: str | None = "one", at: datetime = AT) -> FoundObject:
    return FoundObject(key, size, at, etag, None)


def known(key: str, etag: str | None = "one") -> dict[str, FetchedObject]:
    at = round(AT.timestamp() * 1000)
    return {key: FetchedObject(key=key, size=1, modified_ms=at, etag=etag)}


def keys(waiting: Waiting) -> tuple[list[str], list[str], list[str]]:
    kinds = (waiting.new, waiting.replaced, waiting.unusable)
    new, replaced, unusable = ([one.key for one in kind] for kind in kinds)
    return new, replaced, unusable


def test_an_object_is_known_by_its_key_and_its_content() -> None:
    listed = [found("a"), found("b"), found("c")]
    copied = {**known("a"), **known("b", etag="other")}
    assert keys(compare(SOURCE, listed, copied)) == (["c"], ["b"], [])


def test_an_etag_is_the_same_with_quotes_and_without() -> None:
    listed = [found("a", etag='"one"'), found("b", etag="one")]
    copied = {**known("a", etag="one"), **known("b", etag='"one"')}
    assert keys(compare(SOURCE, listed, copied)) == ([], [], [])


def test_without_etags_content_is_known_by_size_and_time() -> None:
    later = datetime(2026, 3, 2, tzinfo=UTC)
    listed = [found("a", etag=None), found("b", etag=None, at=later)]
    copied = {**known("a", etag=None), **known("b", etag=None)}
    assert keys(compare(SOURCE, listed, copied)) == ([], ["b"], [])


def test_a_folder_that_a_console_has_made_is_not_copied() -> None:
    listed = [found("2026", size=0), found("2026/a.csv")]
    assert keys(compare(SOURCE, listed, {})) == (["2026/a.csv"], [], [])


def test_a_key_that_cannot_be_a_file_is_said_and_the_others_are_copied() -> None:
    long = f"{'ü' * 128}.csv"
    listed = [found("2026"), found("2026/a.csv"), found(long)]
    waiting = compare(SOURCE, listed, {})
    assert keys(waiting) == (["2026/a.csv"], [], ["2026", long])
    (problem,) = waiting.problems("orders", SOURCE)
    assert problem.error.code == "ObjectKeyUnusable"
