"""What a spec may say of the object store that files are copied from."""

from __future__ import annotations

import pytest

from tests.spec.sources.test_file import refused, source, spec
from tidemill.spec.stream_trigger import TriggerUnsupported, parse_trigger, refuse_unsupported

FETCH = "    fetch: {url: 's3://deliveries/orders/', conn_id: shop}"


def test_a_folder_of_a_bucket_is_taken() -> None:
    found = source(FETCH)
    assert found.fetch is not None
    assert (found.fetch.url, found.conn_id, found.copied) == (
        "s3://deliveries/orders",
        "shop",
        True,
    )


@pytest.mark.parametrize("url", ["/data/orders", "http://host/orders", "s3://b/o?versionId=1"])
def test_anything_else_than_a_bucket_is_refused(url: str) -> None:
    assert refused(f"    fetch: {{url: '{url}'}}").field == "sources.orders.fetch.url"


@pytest.mark.parametrize("trigger", ["default", "processing-time=10s"])
def test_a_query_that_runs_on_would_copy_nothing_and_is_refused(trigger: str) -> None:
    with pytest.raises(TriggerUnsupported) as error:
        refuse_unsupported(parse_trigger(trigger), spec(FETCH))
    assert error.value.at == "sources.orders.fetch"


def test_a_query_that_takes_what_is_there_is_not() -> None:
    refuse_unsupported(parse_trigger("available-now"), spec(FETCH))


@pytest.mark.parametrize(
    ("clean", "archive"),
    [("delete", None), ("{archive: 's3a://done/orders/'}", "s3a://done/orders")],
)
def test_objects_may_be_deleted_or_archived(clean: str, archive: str | None) -> None:
    found = source(FETCH.replace("}", f", clean: {clean}}}"))
    assert found.fetch is not None
    assert (found.cleans_objects, found.fetch.archive, found.cleans) == (True, archive, False)


@pytest.mark.parametrize(
    ("url", "clean", "field"),
    [
        ("gs://deliveries/orders", "delete", "clean"),
        ("s3://deliveries/orders", "{archive: 's3a://deliveries/orders/done'}", "clean.archive"),
        ("s3://deliveries/orders", "{archive: 's3://deliveries'}", "clean.archive"),
        ("s3://deliveries/orders", "{archive: 'gs://done'}", "clean.archive"),
        ("s3://deliveries/orders", "{archive: /done}", "clean"),
    ],
)
def test_a_place_that_cannot_be_cleaned_and_an_archive_that_is_fetched_again_are_refused(
    url: str, clean: str, field: str
) -> None:
    error = refused(f"    fetch: {{url: '{url}', clean: {clean}}}")
    assert error.field == f"sources.orders.fetch.{field}"
