"""One cluster for all tests of the folder, which end none of its daemons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.spark import Cluster

# The address of a card that each worker says it has.
CARD = "card-7"


@pytest.fixture(scope="session")
def cluster(child_jvm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master, two workers of two cores and a card, whose Python cannot import Tidemill."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['tidemill'] = None\n")
    script = folder / "cards.sh"
    script.write_text(f"#!/bin/sh\necho '{json.dumps({'name': 'gpu', 'addresses': [CARD]})}'\n")
    script.chmod(0o700)
    gpu = "-Dspark.worker.resource.gpu"
    options = [f"{gpu}.amount=1", f"{gpu}.discoveryScript={script}"]
    with Cluster(options, {"PYTHONPATH": str(folder)}) as cluster:
        yield cluster
