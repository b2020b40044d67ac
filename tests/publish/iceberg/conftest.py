"""A history that is published to Delta and to an Iceberg table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History
from tests.support.iceberg_catalogue import Catalogue

# Only the catalogue of these tests is on a server.
SERVER = (pytest.mark.jvm, pytest.mark.server)


@pytest.fixture(params=["sql", pytest.param("rest", marks=SERVER)])
def catalogue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalogue]:
    """An empty catalogue, of each kind."""
    home = tmp_path / "catalogue"
    home.mkdir()
    if request.param == "sql":
        yield Catalogue(home)
        return
    server = request.getfixturevalue("iceberg_rest")
    catalogue = Catalogue(home, server={"type": "rest", "uri": server.uri})
    yield catalogue
    catalogue.empty()


@pytest.fixture
def history(make_history: Callable[..., History], catalogue: Catalogue) -> History:
    """An empty history."""
    return make_history(more=f"publish: [{{kind: delta}}, {catalogue.target}]")
