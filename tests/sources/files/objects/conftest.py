"""Deliveries to a bucket of an S3 server, and the source that copies them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers.s3 import S3
from tests.support.histories.history_builder import History
from tidemill.contract.connections.airflow import variable
from tidemill.sources.kinds import open_source
from tidemill.sources.open_source import OpenSource
from tidemill.sources.probe_result import ProbeResult
from tidemill.storage.run_context import RunContext

CONN_ID = "deliveries"


@dataclass(frozen=True)
class Deliveries:
    """A bucket, and a pipeline that copies the folder `orders` of it.

    Args:
        history: The pipeline.
    """

    server: S3
    bucket: str
    history: History
    environ: Mapping[str, str]
    more: str = ""

    def put(self, name: str, content: bytes = b"id,at\n1,2026-03-01 00:00:00\n") -> None:
        self.server.put(self.bucket, f"orders/{name}", content)

    def clean(self, clean: str) -> None:
        """Go over to a spec that says something else of the objects."""
        self.history.write_spec(source=source_of(self.bucket, clean) + self.more)
        self.history.start()

    @property
    def source(self) -> OpenSource[Any]:
        return open_source(self.history.pipeline, "orders", self.environ)

    @property
    def copies(self) -> Path:
        return self.history.inputs

    def probe(self) -> ProbeResult:
        return self.source.probe(self.history.ledger.batches())

    def fetch(self) -> list[str]:
        """Copy what is new; the names of all copies afterwards."""
        run = RunContext(self.history.pipeline, "fetch", lambda _: None)
        with run.hold("ingest") as held:
            self.source.fetch(held)
        files = (path for path in self.copies.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.copies)) for path in files)


def deliveries_of(
    server: S3, home: Path, more: str = "", endpoint: str | None = None, clean: str = "off"
) -> Deliveries:
    """Deliveries to a fresh bucket.

    Args:
        home: An empty directory.
        more: Text at the end of the source.
        endpoint: The address that the pipeline uses, if not the server's own.
        clean: What becomes of objects; `archive` moves them to the folder `done` of the bucket.
    """
    bucket = server.fresh_bucket()
    history = History(home, source=source_of(bucket, clean) + more)
    history.inputs.rmdir()
    environ = {variable(CONN_ID): server.connection_at(endpoint or server.endpoint)}
    return Deliveries(server, bucket, history, environ, more)


def source_of(bucket: str, clean: str) -> str:
    """The text of a source that copies a bucket's folder `orders`."""
    where = f"{{archive: 's3://{bucket}/done'}}" if clean == "archive" else f"'{clean}'"
    return f", fetch: {{url: 's3://{bucket}/orders', conn_id: {CONN_ID}, clean: {where}}}"


@pytest.fixture
def deliveries(s3: S3, tmp_path: Path) -> Deliveries:
    return deliveries_of(s3, tmp_path)
