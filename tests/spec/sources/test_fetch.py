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
