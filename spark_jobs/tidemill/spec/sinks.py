"""Sinks that Spark writes to by itself: rows reach them before any gate, at least once.

A rejected row reaches none of them, for there is no table beside which it could be kept. It is left
out, and counted by its reason in the ledger and in the run report.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from tidemill.spec.model import Model, PlainName, Word
from tidemill.spec.sources.base import Options, as_text

# What Spark's Kafka sink sets itself, or takes from the connection.
ENGINE_OPTIONS = frozenset(
    {"topic", "kafka.bootstrap.servers", "kafka.key.serializer", "kafka.value.serializer"}
)


class KafkaSink(Model):
    """Spark's Kafka sink; the transform returns `value` and, if wanted, `key`, `topic`, `headers`.

    Attributes:
        conn_id: The Airflow connection with brokers and secrets.
        topic: The topic of all rows; without it, the transform's column `topic` names it.
        options: `includeHeaders`, and settings of Kafka's producer with the prefix `kafka.`.
    """

    kind: Literal["kafka"]
    conn_id: PlainName = "tidemill_kafka"
    topic: str | None = None
    options: Options = {}

    @field_validator("options")
    @classmethod
    def _are_the_producers(cls, options: dict[str, Any]) -> dict[str, Any]:
        for name in options:
            low = name.lower()
            if low.startswith(("kafka.sasl", "kafka.ssl")):
                msg = f"option '{name}' belongs into the Airflow connection that conn_id names"
                raise ValueError(msg)
            if low in ENGINE_OPTIONS:
                msg = f"option '{name}' is set by the engine; remove it"
                raise ValueError(msg)
            if low != "includeheaders" and not low.startswith("kafka."):
                msg = f"'{name}' is not one of includeHeaders and kafka.*, which Spark passes on"
                raise ValueError(msg)
        return options

    @property
    def writer_options(self) -> dict[str, str]:
        """Options for Spark's writer, without the connection."""
        topic = {} if self.topic is None else {"topic": self.topic}
        return {**{name: as_text(value) for name, value in self.options.items()}, **topic}


class ForeachSink(Model):
    """`foreach` in the transform's file: a function of a row, or a class `ForeachWriter`."""

    kind: Literal["foreach"]


class ForeachBatchSink(Model):
    """The function `foreach_batch(rows, batch_id)` in the transform's file.

    Attributes:
        persist: Keep a batch's rows while the function runs, so that writing them to several
            places reads and computes them once.
    """

    kind: Literal["foreach_batch"]
    persist: bool = False


class ConsoleSink(Model):
    """Rows on standard output.

    Attributes:
        numRows: How many rows of a batch are shown.
        truncate: Whether long values are cut.
    """

    kind: Literal["console"]
    numRows: Annotated[int, Field(gt=0)] = 20
    truncate: bool = True


class MemorySink(Model):
    """A temporary table in the driver, for looking and for tests; it ends with the process.

    Only in mode `complete` does Spark carry such a table on from its checkpoint. In the others a
    run begins at the sources' beginning, for nothing of what an earlier one wrote exists any more.

    Attributes:
        table: The name of the table in the session.
    """

    kind: Literal["memory"]
    table: Word | None = None


Sink = Annotated[
    KafkaSink | ForeachSink | ForeachBatchSink | ConsoleSink | MemorySink,
    Field(discriminator="kind"),
]
