"""Sources for testing, which Spark cannot replay, so that no pipeline may publish them."""

from datetime import timedelta
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tidemill.contract.syntax.quantities import Duration, as_time_string
from tidemill.spec.model import Disagreement
from tidemill.spec.sources.base import BaseSource, OptionValue, as_text


class TrialSource(BaseSource):
    """What they have in common: all that Spark knows of them is a field."""

    kind: Literal["rate", "rate-micro-batch", "socket"]

    @model_validator(mode="after")
    def _has_fields_alone(self) -> Self:
        if self.options:
            known = sorted(self._own_fields)
            msg = f"a {self.kind} source has no options but its fields: {', '.join(known)}"
            raise Disagreement(msg, "options")
        return self

    @property
    def replayable(self) -> bool:
        return False

    @property
    def origin(self) -> str:
        """Where its rows come from."""
        return self.kind

    @property
    def reader_options(self) -> dict[str, str]:
        given = self._own_fields & self.model_fields_set
        return {name: _spelled(getattr(self, name)) for name in sorted(given)}

    @property
    def _own_fields(self) -> set[str]:
        return set(type(self).model_fields).difference(TrialSource.model_fields)


def _spelled(value: OptionValue | timedelta) -> str:
    return as_time_string(value) if isinstance(value, timedelta) else as_text(value)


class RateSource(TrialSource):
    """Rows that Spark makes up by the second: `timestamp`, `value`.

    Attributes:
        rowsPerSecond: How many rows each second has.
        rampUpTime: How long the rate takes to reach that.
        numPartitions: How many tasks make them.
    """

    kind: Literal["rate"]
    rowsPerSecond: Annotated[int, Field(gt=0)] = 1
    rampUpTime: Duration = timedelta(0)
    numPartitions: Annotated[int, Field(gt=0)] = 1

    @property
    def partitions(self) -> int:
        return self.numPartitions

    @property
    def columns(self) -> tuple[str, ...]:
        return ("timestamp", "value")


class RateMicroBatchSource(TrialSource):
    """Rows that Spark makes up by the batch: `timestamp`, `value`.

    Attributes:
        rowsPerBatch: How many rows each batch has.
        startTimestamp: The time of the first batch, in milliseconds since the epoch.
        advanceMillisPerBatch: How much later the next batch is.
        numPartitions: How many tasks make them.
    """

    NOT_CONTINUOUS: ClassVar = "Data source rate-micro-batch does not support continuous processing"

    kind: Literal["rate-micro-batch"]
    rowsPerBatch: Annotated[int, Field(gt=0)]
    startTimestamp: Annotated[int, Field(ge=0)] = 0
    advanceMillisPerBatch: Annotated[int, Field(gt=0)] = 1000
    numPartitions: Annotated[int, Field(gt=0)] = 1

    @property
    def columns(self) -> tuple[str, ...]:
        return ("timestamp", "value")


class SocketSource(TrialSource):
    """Lines of text from a socket: `value`, and `timestamp` if asked for.

    Attributes:
        host: The host that sends the lines.
        port: Its port.
        includeTimestamp: Whether each line has the time at which it came.
    """

    kind: Literal["socket"]
    host: str = "127.0.0.1"
    port: Annotated[int, Field(gt=0, lt=65536)]
    includeTimestamp: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return ("value", "timestamp") if self.includeTimestamp else ("value",)

    @property
    def origin(self) -> str:
        return f"socket:{self.host}:{self.port}"

    @property
    def reader_options(self) -> dict[str, str]:
        # The others have a default of Spark's own; a host it wants to be told.
        return {"host": self.host, **super().reader_options}
