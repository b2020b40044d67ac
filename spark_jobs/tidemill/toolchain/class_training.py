"""A small ingest that loads the classes of an ordinary one, and says where Java looks for them."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Spark reads those of the caller's; a root or a cluster of the caller's is not to be touched.
OTHERS = ("TIDEMILL_", "AIRFLOW_CONN_", "SPARK_", "PYSPARK_")
SPEC = """\
sources:
  events:
    kind: file
    format: {form}
    path: {folder}
    schema: id string, quantity int, price decimal(10,2), at timestamp
event_time: {{column: at}}
row_rules: {{id_present: id IS NOT NULL}}
output: {{partition_by: {{day: to_date(at)}}}}
gate: {{suite: none}}
"""
TRANSFORM = """\
from pathlib import Path

from pyspark.sql import functions as F


def transform(events):
    java = events.sparkSession._jvm.System
    Path({class_path!r}).write_text(java.getProperty("java.class.path"))
    return events.withColumn("amount", F.col("quantity") * F.col("price"))
"""
INPUT = {
    "csv": "id,quantity,price,at\na,1,2.50,2026-03-01 12:00:00\nb,many,1.00,2026-03-01 12:00:00\n",
    "json": '{"id": "a", "quantity": 1, "price": 2.50, "at": "2026-03-01T12:00:00Z"}\n{"id"\n',
}


@dataclass(frozen=True)
class Training:
    """What to run.

    Args:
        command: The ingest of both pipelines.
        environ: Its environment.
        class_path: The file that it leaves, with the JVM's class path.
    """

    command: tuple[str, ...]
    environ: Mapping[str, str]
    class_path: Path


def write(home: Path) -> Training:
    """Two pipelines with some rows, good and malformed, in a folder of their own.

    Args:
        home: An existing folder.
    """
    class_path = home / "class_path"
    for form, rows in INPUT.items():
        name = f"training_{form}"
        folder = home / "input" / form
        _write(folder / f"1.{form}", rows)
        _write(home / f"dags/specs/{name}.yaml", SPEC.format(form=form, folder=folder))
        transform = TRANSFORM.format(class_path=str(class_path))
        _write(home / f"spark_jobs/transforms/{name}.py", transform)
    root = home / "root"
    root.mkdir()
    kept = {n: value for n, value in os.environ.items() if not n.startswith(OTHERS)}
    own = {
        "TIDEMILL_ROOT": str(root),
        "TIDEMILL_PROJECTS": str(home),
        "TIDEMILL_EXAMPLES": "",
        "TIDEMILL_MASTER": "local[2]",
    }
    names = [f"training_{form}" for form in INPUT]
    command = (sys.executable, "-m", "tidemill.main", "ingest", *names, "--run-id", "training")
    return Training(command, {**kept, **own}, class_path)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
