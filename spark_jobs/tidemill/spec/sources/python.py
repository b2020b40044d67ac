"""A Python data source of a spec: whatever has a class for `pyspark.sql.datasource`."""

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from tidemill.spec.sources.base import TypedSource


class PythonSource(TypedSource):
    """Rows of a `DataSource` subclass, registered with Spark when the query is built.

    Attributes:
        data_source: `module:Class` in the project's `spark_jobs/data_sources/module.py`, or a class
            of an installed package, `package.module:Class`.
    """

    NOT_CONTINUOUS: ClassVar = "a Python data source does not support continuous processing"

    kind: Literal["python"]
    data_source: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
