"""A Python data source of a spec: whatever has a class for `pyspark.sql.datasource`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints, field_validator

from tidemill.contract.syntax.ddl import column_names
from tidemill.spec.sources.base import BaseSource, Ddl, checked_columns


class PythonSource(BaseSource):
    """Rows of a `DataSource` subclass, registered with Spark when the query is built.

    Attributes:
        data_source: `module:Class` in the project's `spark_jobs/data_sources/module.py`, or a class
            of an installed package, `package.module:Class`.
        schema_: The columns, as Spark DDL.
    """

    NOT_CONTINUOUS: ClassVar = "a Python data source does not support continuous processing"

    kind: Literal["python"]
    data_source: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    schema_: Ddl = Field(alias="schema")

    @field_validator("schema_")
    @classmethod
    def _readable(cls, ddl: str) -> str:
        return checked_columns(ddl)

    @property
    def columns(self) -> tuple[str, ...]:
        return column_names(self.schema_)

    @property
    def ddl(self) -> str:
        return self.schema_
