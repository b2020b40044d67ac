"""Buckets in the memory of this process: an object store's rules without a server."""

from __future__ import annotations

from collections import defaultdict
from uuid import uuid4

import pytest
from obstore.store import MemoryStore

from tidemill.contract.objects.root_connection import ROOT_CONNECTION


def new_root_in_memory(monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a root that is empty."""
    stores = defaultdict[str, MemoryStore](MemoryStore)
    monkeypatch.setattr("tidemill.contract.objects.client.from_url", lambda url, **_: stores[url])
    monkeypatch.delenv(ROOT_CONNECTION, raising=False)
    return f"s3a://memory-{uuid4().hex}/root"
