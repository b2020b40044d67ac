"""The documents that version 0.1 wrote before any key was renamed, as files of a root.

`documents_of_0_1.json` holds what real runs of that version left, path by path: take-ins, a
backfill, a rejection and a reinstatement, a release, a redo, a rebuild, a fork, a flush, late rows,
a withdrawn event. What only Kafka, Airflow or a notification leaves was written by that version's
own functions. It is never rewritten.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCUMENTS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).parents[1].joinpath("storage/documents_of_0_1.json").read_text(encoding="utf-8")
)


def unpack(home: Path) -> Path:
    """Put every document in its place below a folder.

    Returns:
        The root, which holds the pipelines `sales`, `windows`, `orders` and `clicks`.
    """
    for name, content in DOCUMENTS.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return home / "root"
