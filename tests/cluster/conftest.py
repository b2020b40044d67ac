"""One cluster for all tests of the folder, which end none of its daemons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.spark import Cluster


@pytest.fixture(scope="session")
def cluster(child_jvm: Path) -> Iterator[Cluster]:
    """A master and two workers of two cores each."""
    with Cluster() as cluster:
        yield cluster
