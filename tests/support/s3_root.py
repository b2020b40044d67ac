"""A root in a bucket of the S3 server, as this process's environment names it."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from tests.servers.s3 import S3
from tests.support.histories.history_builder import History
from tidemill.contract.connections.airflow import variable
from tidemill.contract.objects.root_connection import ROOT_CONNECTION
from tidemill.storage.root_identity import initialise

CONN_ID = "root_store"


def new_root(s3: S3, monkeypatch: pytest.MonkeyPatch, endpoint: str | None = None) -> str:
    """The URL of a root that is empty, and to which the variables lead.

    Args:
        endpoint: That of a proxy before the server; the server's own where not given.
    """
    monkeypatch.setenv(ROOT_CONNECTION, CONN_ID)
    monkeypatch.setenv(variable(CONN_ID), s3.connection_at(endpoint or s3.endpoint))
    return f"s3a://{s3.fresh_bucket()}/root-{uuid4().hex[:6]}"


def history_in_bucket(home: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> History:
    """A history whose root is in a bucket and initialised, as this process's environment says."""
    history = History(home, bucket=new_root(s3, monkeypatch))
    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    initialise(history.root, environ={})
    return history
