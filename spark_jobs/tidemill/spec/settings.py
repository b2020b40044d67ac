"""Small settings of a pipeline: trigger, budget, state, backfill, metrics and listeners."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from tidemill.contract.syntax.quantities import Duration, Size
from tidemill.spec.model import Column, Expression, Model

# `module:Class` in the project's `spark_jobs/listeners/module.py`, or a class of an installed
# package, `package.module:Class`.
Listener = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
# Metric -> an aggregate over the transform's result, in SQL.
Metrics = dict[Column, Expression]


class Trigger(StrEnum):
    """Spark's trigger: available input in bounded batches, or all in one."""

    AVAILABLE_NOW = "available_now"
    ONCE = "once"


class Budget(Model):
    """Limits of one run, which stops between two batches and reports what is left.

    Attributes:
        max_batches: Most batches of a run.
        max_bytes: The max bytes of input files; the run ends with the batch that reaches it.
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


class State(Model):
    """The state of a query with windows, joins, deduplication or state of its own.

    Attributes:
        shuffle_partitions: Over which its keys are divided, for good: chosen when a generation is
            born, from the cores where not given.
    """

    shuffle_partitions: Annotated[int, Field(gt=0)] | None = None


class Backfill(Model):
    """Settings of backfills.

    Attributes:
        lateness: Every row arrives between its event time and that much later, so that a backfill
            need not read what arrived before or after. For a file, the time of modification
            counts, for a record the commit of the batch that read it. Without it all input is
            read.
    """

    lateness: Duration | None = None
