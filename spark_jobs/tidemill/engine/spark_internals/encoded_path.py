"""Paths as Spark writes them in `_metadata.file_path`, where some letters are escaped.

Relies on Hadoop's `Path.toUri`.
"""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def encoded_path(session: SparkSession, path: str | Path) -> str:
    """An absolute path in the letters of a URI, without a scheme."""
    jvm: Any = session._jvm
    return str(jvm.org.apache.hadoop.fs.Path(str(path)).toUri().getRawPath())
