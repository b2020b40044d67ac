"""Sinks that Spark writes to by itself: rows reach them before any gate, at least once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from spark_jobs.contract.model import Column, Model, PlainName
from spark_jobs.contract.source import OptionValue


class KafkaSink(Model):
    """Spark's Kafka sink; the transform returns `value` and, if wanted, `key`, `topic`, `headers`.

    Attributes:
        topic: Of all rows; without it the transform's column `topic` says.
    """

    kind: Literal["kafka"]
    conn_id: PlainName = "tidemill_kafka"
    topic: str | None = None
    options: dict[str, OptionValue] = {}


class ForeachSink(Model):
    """`foreach` in the transform's file: a function of a row, or a class `ForeachWriter`."""

    kind: Literal["foreach"]


class ForeachBatchSink(Model):
    """The function `foreach_batch(rows, batch_id)` in the transform's file."""

    kind: Literal["foreach_batch"]


class ConsoleSink(Model):
    """Rows on standard output."""

    kind: Literal["console"]
    numRows: Annotated[int, Field(gt=0)] = 20
    truncate: bool = True


class MemorySink(Model):
    """A temporary table in the driver; for looking, and for tests."""

    kind: Literal["memory"]
    table: Column | None = None


Sink = Annotated[
    KafkaSink | ForeachSink | ForeachBatchSink | ConsoleSink | MemorySink,
    Field(discriminator="kind"),
]
