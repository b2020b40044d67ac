"""How a run takes what is there, and how much of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from spark_jobs.contract.model import Model
from spark_jobs.contract.quantities import Size


class Trigger(StrEnum):
    """How a run takes what is there: in bounded batches, or all in one."""

    AVAILABLE_NOW = "available_now"
    ONCE = "once"


class Budget(Model):
    """What one run may take; it stops between two batches and says what is left."""

    max_batches: Annotated[int, Field(gt=0)] | None = None
    max_bytes: Annotated[Size, Field(gt=0)] | None = None
    max_minutes: Annotated[float, Field(gt=0)] | None = None
