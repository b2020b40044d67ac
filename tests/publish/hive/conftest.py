"""A history whose Delta table has a name in a Hive metastore."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.support.histories.history_builder import History
from tidemill.contract.connections.hive import Metastore
from tidemill.publish.hive.metastore import open_metastore

if TYPE_CHECKING:
    from hive_metastore.ThriftHiveMetastore import Client

    from tests.servers.hive_metastore import HiveMetastore


@pytest.fixture
def table(hive_metastore: HiveMetastore, monkeypatch: pytest.MonkeyPatch) -> str:
    """A name in a database that is not there yet, with the connection in the environment."""
    given = {"conn_type": "hive_metastore", "host": "127.0.0.1", "port": hive_metastore.port}
    monkeypatch.setenv("AIRFLOW_CONN_METASTORE", json.dumps({**given, "login": "mill"}))
    return f"sales_{uuid4().hex}.orders"


@pytest.fixture
def client(hive_metastore: HiveMetastore, table: str) -> Iterator[Client]:
    """A client of the metastore."""
    at = Metastore(hive_metastore.host, hive_metastore.port, None)
    opened: AbstractContextManager[Client] = open_metastore(at, table)
    with opened as client:
        yield client


@pytest.fixture
def history(make_history: Callable[..., History], table: str) -> History:
    """An empty history."""
    catalog = f"{{type: hive, table: {table}, conn_id: metastore}}"
    return make_history(more=f"publish: [{{kind: delta, catalog: {catalog}}}]")
