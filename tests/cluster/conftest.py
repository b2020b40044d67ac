"""One cluster for all tests of the folder, which end none of its daemons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.spark import Cluster


@pytest.fixture(scope="session")
def cluster(child_jvm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of two cores each, whose Python cannot import Tidemill."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['tidemill'] = None\n")
    with Cluster(variables={"PYTHONPATH": str(folder)}) as cluster:
        yield cluster
