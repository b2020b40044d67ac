"""One table on each floor tells kinds of sources apart, and nothing else does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from tidemill.contract.project import REPOSITORY
from tidemill.spec.sources.testing import TrialSource
from tidemill.spec.spec import Source

KINDS = {TrialSource.__name__, *(kind.__name__ for kind in get_args(get_args(Source)[0]))}
TABLES = {
    "spark_jobs/tidemill/engine/sources/kinds.py",
    "spark_jobs/tidemill/sources/kinds.py",
}


def kinds_asked_for(tree: ast.AST) -> Iterator[str]:
    """The classes of sources that `isinstance` and `match` ask for."""
    for node in ast.walk(tree):
        asked: ast.AST | None = None
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            asked = node.args[1]
        elif isinstance(node, ast.MatchClass):
            asked = node.cls
        if asked is not None:
            yield from (n.id for n in ast.walk(asked) if isinstance(n, ast.Name) and n.id in KINDS)


def product() -> Iterator[Path]:
    for package in ("spark_jobs/tidemill", "plugins/tidemill_airflow"):
        yield from (REPOSITORY / package).rglob("*.py")


def test_only_the_tables_of_kinds_tell_sources_apart() -> None:
    found = {
        path.relative_to(REPOSITORY).as_posix(): {*kinds_asked_for(ast.parse(path.read_text()))}
        for path in product()
    }
    assert {path for path, kinds in found.items() if kinds} == TABLES
    assert found["spark_jobs/tidemill/engine/sources/kinds.py"] == {
        "FileSource",
        "KafkaSource",
        "PythonSource",
        "TableSource",
    }
