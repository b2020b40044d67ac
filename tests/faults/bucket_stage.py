"""A case whose root is in an object store, before which a proxy lets its writes go wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from tests.faults.case import Case
from tests.faults.faulty_store import FaultyStore, StoreFault
from tests.faults.point import Stage
from tests.servers.s3 import S3
from tests.support.histories.history_builder import History
from tests.support.s3_root import CONN_ID
from tidemill.contract.connections.airflow import variable
from tidemill.contract.objects.root_connection import ROOT_CONNECTION


class BucketStage(Stage):
    """As a `Stage`; its faults are those of `StoreFault`.

    Args:
        home: Gets what a play has on a disk.
        case: Has no relation to a local disk.
        s3: The server, which is up; its buckets are folders of this machine.
        proxy: Is up before it.
    """

    count = StoreFault.COUNT

    def __init__(self, home: Path, case: Case, s3: S3, proxy: FaultyStore) -> None:
        self.proxy = proxy
        self.bucket = s3.fresh_bucket()
        self.folder = s3.buckets / self.bucket
        self.folder_before = home / self.bucket
        os.environ[ROOT_CONNECTION] = CONN_ID
        os.environ[variable(CONN_ID)] = s3.connection_at(proxy.endpoint)
        super().__init__(home, case)

    def open(self) -> History:
        self.folder.mkdir(exist_ok=True)
        return self.case.open(self.home, f"s3a://{self.bucket}/root")

    def places(self) -> dict[Path, Path]:
        return {**super().places(), self.folder: self.folder_before}

    def armed(self, call: int, fault: Any, report: int) -> AbstractContextManager[Any]:
        return self.proxy.armed(call, fault)

    def calls_of(self, report: int) -> list[str]:
        return [call.replace(f"/{self.bucket}/root/", "") for call in self.proxy.calls()]

    def between_the_steps(self) -> None:
        self.proxy.deliver()


@contextmanager
def faulty_s3() -> Iterator[tuple[S3, FaultyStore]]:
    """A server and the proxy before it."""
    with S3() as s3, FaultyStore(s3.endpoint).up() as proxy:
        yield s3, proxy
