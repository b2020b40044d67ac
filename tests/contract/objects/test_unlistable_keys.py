"""A client of a bucket, where a server answers what the real ones of the tests never do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tidemill.contract.connections.airflow import connection, variable
from tidemill.contract.objects.client import ObjectClient
from tidemill.contract.objects.errors import ObjectKeyUnusable

# As Amazon answers; S3Proxy keeps its objects in files, which cannot have such names.
LISTING = b"""<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>deliveries</Name>
<IsTruncated>false</IsTruncated><Contents><Key>orders//a.csv</Key><Size>1</Size>
<ETag>"one"</ETag><LastModified>2026-03-01T00:00:00.000Z</LastModified></Contents>
</ListBucketResult>"""


@pytest.fixture
def endpoint() -> Iterator[str]:
    """A server that answers every request with the listing."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(LISTING)))
            self.end_headers()
            self.wfile.write(LISTING)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_key_with_an_empty_part_is_refused_by_its_name(endpoint: str) -> None:
    extra = json.dumps({"endpoint_url": endpoint, "region_name": "eu-west-1"})
    given = {"conn_type": "aws", "login": "who", "password": "secret", "extra": extra}
    login = connection("shop", {variable("shop"): json.dumps(given)})
    client = ObjectClient("s3://deliveries/orders", "sources.orders.fetch.url", login)
    with pytest.raises(ObjectKeyUnusable) as error:
        client.objects()
    assert error.value.keys == ["orders//a.csv"]
