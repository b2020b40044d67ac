"""Only `spark_internals` reaches into the JVM."""

from __future__ import annotations

import ast
import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
DOOR = REPOSITORY / "spark_jobs/tidemill/engine/spark_internals"
# What PySpark and py4j call the JVM's side of an object, such as `_jdf` and `_jsparkSession`.
INTO_THE_JVM = re.compile(r"_j[a-z]\w*|_gateway|_to_java_\w+|_to_seq")


def doors(source: str) -> list[int]:
    """The lines that reach into the JVM."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # As in `getattr(frame, "_jdf")`.
            names = [node.value]
        elif isinstance(node, ast.ImportFrom):
            names = ["_jvm"] if (node.module or "").startswith("py4j") else []
        elif isinstance(node, ast.Import):
            names = ["_jvm" for alias in node.names if alias.name.startswith("py4j")]
        else:
            continue
        found += [node.lineno for name in names if INTO_THE_JVM.fullmatch(name)]
    return found


def test_no_other_module_reaches_into_the_jvm() -> None:
    places = [
        f"{file.relative_to(REPOSITORY)}:{line}"
        for folder in ("spark_jobs", "plugins", "dags")
        for file in sorted((REPOSITORY / folder).rglob("*.py"))
        if DOOR not in file.parents
        for line in doors(file.read_text(encoding="utf-8"))
    ]
    assert places == []


def test_each_way_into_the_jvm_is_seen() -> None:
    for source in (
        "frame._jdf.queryExecution()",
        "SparkSession.active()._jvm",
        "session.sparkContext._jsc",
        "query._jsq",
        'getattr(frame, "_jdf")',
        "from py4j.protocol import Py4JJavaError",
        "import py4j.java_gateway",
    ):
        assert doors(source) == [1], source
    # The first changes what PySpark notes; the other reaches into the JVM by modules beside it.
    assert {
        file.name for file in DOOR.glob("[!_]*.py") if not doors(file.read_text(encoding="utf-8"))
    } == {"call_sites.py", "guarded_steps.py"}
