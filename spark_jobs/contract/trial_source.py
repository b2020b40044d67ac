"""Sources for trying things: Spark cannot replay them, so that no pipeline may publish them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from spark_jobs.contract.source import BaseSource


class RateSource(BaseSource):
    """Rows that Spark makes up by the second: `timestamp`, `value`."""

    kind: Literal["rate"]
    rowsPerSecond: Annotated[int, Field(gt=0)] = 1
    rampUpTime: str = "0s"
    numPartitions: Annotated[int, Field(gt=0)] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return ("timestamp", "value")

    @property
    def replayable(self) -> bool:
        return False


class RateMicroBatchSource(BaseSource):
    """Rows that Spark makes up by the batch: `timestamp`, `value`."""

    kind: Literal["rate-micro-batch"]
    rowsPerBatch: Annotated[int, Field(gt=0)]
    startTimestamp: Annotated[int, Field(ge=0)] = 0
    advanceMillisPerBatch: Annotated[int, Field(gt=0)] = 1000
    numPartitions: Annotated[int, Field(gt=0)] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return ("timestamp", "value")

    @property
    def replayable(self) -> bool:
        return False


class SocketSource(BaseSource):
    """Lines of text from a socket: `value`, and `timestamp` if asked for."""

    kind: Literal["socket"]
    host: str = "127.0.0.1"
    port: Annotated[int, Field(gt=0, lt=65536)]
    includeTimestamp: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return ("value", "timestamp") if self.includeTimestamp else ("value",)

    @property
    def replayable(self) -> bool:
        return False
