"""What somebody else needs to see of a pipeline to help, without secrets and without row values.

A document keeps its shape, its numbers, truth values and times. A text is kept only where its field
never holds a path, a person's words or a value of a row; else its length stands there. Fields that
may hold values of rows, as what broke an expectation, are left out whole.
"""

import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tidemill.contract.document import FrozenModel
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.parts.document_kinds import DOCUMENT_KINDS
from tidemill.steps.read_only.installation import installation

# The newest of each kind of document, and of the reports.
MOST_DOCUMENTS = 100
# Fields with texts of ours: names of steps, states, generations, codes.
PLAIN = frozenset(
    (
        *("code", "engine", "format_version", "generation", "kind", "mode", "outcome", "pipeline"),
        *("role", "run_id", "scope", "severity", "state", "step", "target", "type", "version"),
    )
)
# Fields with values of rows, or with whatever a step or an error found.
LEFT_OUT = frozenset(
    (
        *("data", "error", "facts", "kwargs", "metrics", "observed", "observed_value"),
        *("partition", "partitions", "reason", "reasons", "samples"),
    )
)
_PARTITION = re.compile(r"=[^/]+")


def write_bundle(
    pipeline: Pipeline, to: Path, environ: Mapping[str, str] = os.environ
) -> list[tuple[str, int]]:
    """Write a bundle for support.

    Args:
        to: The file to write, `.tar.gz`; it must not be there.

    Returns:
        The names of what is in it, with their bytes.

    Raises:
        FileExistsError: the file is there.
    """
    held = []
    with tarfile.open(to, "x:gz") as bundle:
        for name, content in bundled(pipeline, environ):
            entry = tarfile.TarInfo(f"{pipeline.name}/{name}")
            entry.size = len(content)
            bundle.addfile(entry, BytesIO(content))
            held.append((name, len(content)))
    return held


def bundled(
    pipeline: Pipeline, environ: Mapping[str, str] = os.environ
) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each file of a bundle."""
    return ((name, text.encode()) for name, text in _parts(pipeline, environ))


def redacted(value: Any, fields: frozenset[str], field: str = "") -> Any:
    """Data without texts that may come from rows, inputs or people.

    Args:
        fields: Keys that are kept; another key may be a value, and only its place is.
        field: The key under which the value stands.
    """
    if field in LEFT_OUT and value:
        return (
            {"code": value["code"]} if isinstance(value, dict) and "code" in value else "left out"
        )
    if isinstance(value, dict):
        kept = {key: redacted(item, fields, key) for key, item in value.items() if key in fields}
        others = [item for key, item in value.items() if key not in fields]
        return kept | {f"key {at}": redacted(item, fields) for at, item in enumerate(others, 1)}
    if isinstance(value, list):
        return [redacted(item, fields, field) for item in value]
    if isinstance(value, str) and field not in PLAIN and not _is_time(value):
        return f"text of {len(value)} characters"
    return value


def _parts(pipeline: Pipeline, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "info.json", json.dumps(asdict(installation(environ)), indent=2, default=str)
    # As written: variables are names there, and connections are names of Airflow's.
    yield "spec.yaml", pipeline.project.spec(pipeline.name).read_text(encoding="utf-8")
    home = pipeline.layout.home
    yield "files.txt", "\n".join(_listing(home))
    fields = _field_names(FrozenModel)
    for path in _documents(home):
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            found = {"type": type(error).__name__}
        shown = json.dumps(redacted(found, fields), indent=2)
        yield f"documents/{path.relative_to(home)}", shown


def _documents(home: Path) -> Iterator[Path]:
    """The newest documents of each kind, and the newest reports."""
    reports = sorted(home.glob("runs/*/*.json"), key=lambda path: path.stat().st_mtime)
    kinds = [list(kind.paths(home)) for kind in DOCUMENT_KINDS]
    single = [home / "status.json", *home.glob("failures/*.json")]
    chosen = {path for kind in (*kinds, reports, single) for path in kind[-MOST_DOCUMENTS:]}
    yield from sorted(path for path in chosen if path.is_file())


def _listing(home: Path) -> Iterator[str]:
    """Every file with its bytes, without the values of partitions."""
    for path in sorted(home.rglob("*")):
        if path.is_file():
            name = _PARTITION.sub("=*", str(path.relative_to(home)))
            yield f"{path.stat().st_size:>12} {name}"


def _field_names(model: type[BaseModel]) -> frozenset[str]:
    """The fields of a model and of all that derive from it."""
    below = (_field_names(one) for one in model.__subclasses__())
    return frozenset(model.model_fields).union(*below)


def _is_time(text: str) -> bool:
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False
