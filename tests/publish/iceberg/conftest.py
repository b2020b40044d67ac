"""A history that is published to Delta and to an Iceberg table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.histories.history_builder import History
from tests.support.iceberg_catalogue import Catalogue

if TYPE_CHECKING:
    from tests.servers.hive_metastore import HiveMetastore

JAVA, PYTHON = (pytest.mark.jvm, pytest.mark.server), pytest.mark.server
# What a metastore 2.3 has no type for, it is then not told.
OLDER_HIVE = {"hive.hive2-compatible": "true"}
KINDS = (
    "sql",
    pytest.param("rest", marks=JAVA),
    pytest.param("hive", marks=JAVA),
    pytest.param("glue", marks=PYTHON),
)


@pytest.fixture(scope="session")
def iceberg_metastore() -> Iterator[HiveMetastore]:
    """A Hive metastore with the setting that Iceberg asks for."""
    from tests.servers.hive_metastore import HiveMetastore

    with HiveMetastore(keeps_types=False) as metastore:
        yield metastore


@pytest.fixture(params=KINDS)
def catalogue(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Catalogue]:
    """An empty catalogue, of each kind."""
    # The other planner of Polars is a package of its own.
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    home = tmp_path / "catalogue"
    home.mkdir()
    if request.param == "sql":
        yield Catalogue(home)
        return
    catalogue = Catalogue(home, server=server_of(request, home, monkeypatch))
    yield catalogue
    catalogue.empty()


def server_of(
    request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """PyIceberg's properties of the server of a kind of catalogue.

    Args:
        home: Where the tables' metadata goes, if the server leaves it to its clients.
    """
    if request.param == "rest":
        return {"type": "rest", "uri": request.getfixturevalue("iceberg_rest").uri}
    if request.param == "hive":
        uri = request.getfixturevalue("iceberg_metastore").uri
        return {"type": "hive", "uri": uri, **OLDER_HIVE}
    # Glue's client takes the credentials of the machine.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anyone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    uri = request.getfixturevalue("glue").uri
    place = {"glue.region": "eu-west-1", "warehouse": f"file://{home}"}
    return {"type": "glue", "glue.endpoint": uri, **place}


@pytest.fixture
def history(make_history: Callable[..., History], catalogue: Catalogue) -> History:
    """An empty history."""
    return make_history(more=f"publish: [{{kind: delta}}, {catalogue.target}]")
