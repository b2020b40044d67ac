"""A table source of a spec: what another pipeline has published, increment by increment."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from tidemill.contract.syntax.ddl import DdlType, column_names, column_types
from tidemill.spec.model import Disagreement, Name
from tidemill.spec.sources.base import BaseSource, Ddl, OptionValue, Rating, checked_columns


class TableSource(BaseSource):
    """The published rows of another pipeline's Delta table, read as increments add them.

    Attributes:
        pipeline: The pipeline that publishes the table, under the same `TIDEMILL_ROOT`.
        schema_: The columns to read, as Spark DDL.
        swapped: What to do when rows that were read have been computed again over there, by a
            backfill, rebuild or rejection: what this pipeline made of them is then out of date.
    """

    HOW_READ: ClassVar = frozenset({"schema_"})
    READS_AGAIN: ClassVar = True
    NOT_CONTINUOUS: ClassVar = "a Python data source does not support continuous processing"

    kind: Literal["table"]
    pipeline: Name
    schema_: Ddl = Field(alias="schema")
    swapped: Rating = Rating.HOLD

    @field_validator("schema_")
    @classmethod
    def _readable(cls, ddl: str) -> str:
        return checked_columns(ddl)

    @field_validator("options")
    @classmethod
    def _has_none(cls, options: dict[str, OptionValue]) -> dict[str, OptionValue]:
        if options:
            raise Disagreement("a table source has no options of a reader", next(iter(options)))
        return options

    @property
    def columns(self) -> tuple[str, ...]:
        return column_names(self.schema_)

    @property
    def ddl(self) -> str:
        return self.schema_

    @property
    def types(self) -> Mapping[str, DdlType]:
        """Column -> its type."""
        return column_types(self.schema_)

    @property
    def reads_pipeline(self) -> str:
        return self.pipeline
