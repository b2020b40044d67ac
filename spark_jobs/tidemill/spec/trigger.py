"""How a run takes what is there, and how much of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from tidemill.contract.syntax.quantities import Size
from tidemill.spec.model import Model


class Trigger(StrEnum):
    """How a run takes what is there: in bounded batches, or all in one."""

    AVAILABLE_NOW = "available_now"
    ONCE = "once"


class Budget(Model):
    """What one run may take; it stops between two batches and says what is left.

    Attributes:
        max_batches: Most batches of a run.
        max_bytes: Of input files; the run ends with the batch that reaches it.
        max_minutes: Since the query's start; the batch at work then is finished.
    """

    max_batches: Annotated[int, Field(gt=0)] | None = None
    max_bytes: Annotated[Size, Field(gt=0)] | None = None
    max_minutes: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            msg = f"give one of {', '.join(type(self).model_fields)}"
            raise ValueError(msg)
        return self
