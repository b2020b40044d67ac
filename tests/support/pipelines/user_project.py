"""Pipelines in a folder of a user's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_pipeline(
    project: Path, name: str, spec: Mapping[str, Any], *, transform: str, suite: Mapping[str, Any]
) -> None:
    """Write the three files of a pipeline.

    Args:
        project: Laid out like this repository.
        name: The name of the pipeline.
        spec: The spec of the same.
        transform: Python code.
        suite: A Great Expectations suite; it gets the pipeline's name.
    """
    files = {
        f"dags/specs/{name}.yaml": json.dumps(spec),
        f"spark_jobs/transforms/{name}.py": transform,
        f"expectations/suites/{name}.json": json.dumps({**suite, "name": name}),
    }
    for path, content in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(content)
