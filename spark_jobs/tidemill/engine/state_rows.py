"""The rows of a query's state, from Spark's state data source."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemill.contract.layout import Layout
from tidemill.engine.spark_errors import from_spark
from tidemill.spark_logs.state_metadata import StateOperator

PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions"
JOIN = "symmetricHashJoin"
TIMERS = "TimerState"


@dataclass(frozen=True)
class StateRows:
    """Some of the rows that an operator keeps.

    Args:
        name: Spark's name of it.
        part: The side of a join, or a variable of `transformWithState`; empty for others.
        columns: Their names: `key`, `value`, `partition_id` and the like.
        rows: Column -> value.
    """

    operator: int
    name: str
    part: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]


def state_rows(
    session: SparkSession, layout: Layout, generation: str, operator: StateOperator, limit: int
) -> list[StateRows]:
    """An operator's state after the last committed batch.

    Args:
        operator: Which.
        limit: Most rows of each part.

    Raises:
        QueryFailed: Spark cannot read its own state.
    """
    checkpoint = str(layout.checkpoint(generation))
    # Stores report what they load to a coordinator, which Spark starts with the first to ask for
    # queries: in a process that runs none, state could not be read (4.2.1).
    _ = session.streams
    found = []
    for part, options in _parts(operator):
        # Spark looks for it in the offset log; those that Spark 4.2.0 wrote may lack it (None.get).
        session.conf.set(PARTITIONS, operator.partitions)
        reader = session.read.format("statestore").options(**options)
        try:
            rows = reader.option("operatorId", operator.operator).load(checkpoint).limit(limit)
            # Arrow keeps the session's time zone, which collect() turns into this machine's.
            table = rows.toArrow()
        except PySparkException as error:
            raise from_spark(error) from error
        finally:
            session.conf.unset(PARTITIONS)
        found.append(
            StateRows(
                operator.operator,
                operator.name,
                part,
                tuple(rows.columns),
                tuple(table.to_pylist(maps_as_pydicts="lossy")),
            )
        )
    return found


def _parts(operator: StateOperator) -> Iterator[tuple[str, dict[str, str]]]:
    """Part -> the options of Spark's reader for it."""
    if operator.name == JOIN:
        yield from ((side, {"joinSide": side}) for side in ("left", "right"))
    elif operator.variables:
        for variable in operator.variables:
            if variable.kind == TIMERS:
                yield "timers", {"readRegisteredTimers": "true"}
            else:
                yield variable.name, {"stateVarName": variable.name}
    else:
        yield "", {}
