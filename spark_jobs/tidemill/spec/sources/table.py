"""A table source of a spec: what another pipeline has published, increment by increment."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from tidemill.contract.syntax.quantities import Size
from tidemill.spec.model import Disagreement, Name
from tidemill.spec.sources.base import OptionValue, TypedSource


class Swapped(StrEnum):
    """What becomes of the partitions that are due since rows upstream were computed again.

    Attributes:
        HOLD: No run takes in more before a person has had them computed again.
        WARN: Runs go on, and say it.
        IGNORE: None is ever due.
        FOLLOW: The next run computes them again.
    """

    HOLD = "hold"
    WARN = "warn"
    IGNORE = "ignore"
    FOLLOW = "follow"


class TableSource(TypedSource):
    """The published rows of another pipeline's Delta table, read as increments add them.

    Attributes:
        pipeline: The pipeline that publishes the table, under the same `TIDEMILL_ROOT`.
        swapped: What to do when rows that were read have been computed again over there, by a
            backfill or rebuild: the partitions that this pipeline made of them are then due.
        maxFilesPerTrigger: Most data files one batch may take, in whole increments and at least
            one of them; 1000 where neither limit is given.
        maxBytesPerTrigger: Most bytes of data files one batch may take, likewise. With both limits
            a batch ends at the first one.
    """

    HOW_READ: ClassVar = frozenset({"schema_"})
    READS_AGAIN: ClassVar = True
    NOT_CONTINUOUS: ClassVar = "a Python data source does not support continuous processing"

    kind: Literal["table"]
    pipeline: Name
    swapped: Swapped = Swapped.HOLD
    maxFilesPerTrigger: Annotated[int, Field(gt=0)] | None = None
    maxBytesPerTrigger: Size | None = None

    @field_validator("options")
    @classmethod
    def _has_none(cls, options: dict[str, OptionValue]) -> dict[str, OptionValue]:
        if options:
            raise Disagreement("a table source has no options of a reader", next(iter(options)))
        return options

    @property
    def rate_limits(self) -> tuple[str, ...]:
        limits = ("maxFilesPerTrigger", "maxBytesPerTrigger")
        return tuple(name for name in limits if getattr(self, name) is not None)

    @property
    def reads_pipeline(self) -> str:
        return self.pipeline
