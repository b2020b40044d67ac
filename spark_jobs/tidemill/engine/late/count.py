"""Counts the late rows of committed batches exactly, and keeps them.

What a batch read is read once more and taken through the transform as a batch, up to the operators
that passed over late rows; there each row is held against the watermark that Spark held it against.
Where the query has one watermark, and Spark's report on the batch says that its earliest event time
is after it, nothing was late, and nothing is read.
"""

import math
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, reduce
from itertools import count
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.engine.late.operators import (
    Drop,
    Rule,
    candidates,
    rule_of,
    sides,
    without_state,
)
from tidemill.engine.query.file_columns import of_transform
from tidemill.engine.query.reject import good, tag
from tidemill.engine.query.transform import TransformRefused, apply, load_transform
from tidemill.engine.sources.exclusions import leave_out
from tidemill.engine.sources.input_gone import InputGone
from tidemill.engine.sources.kinds import read_stream
from tidemill.engine.sources.reread import read_again
from tidemill.engine.sources.static_inputs import Statics, read_statics
from tidemill.engine.spark_errors import from_spark
from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.plan import analysed, kind, nodes
from tidemill.generations.build import left_out
from tidemill.increments.exclusions import Excluded
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import hash_of_file, hash_of_spec
from tidemill.ledger.late_rows import LateCount, LateLog, LateRows, counts_in
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.static_pins import StaticLost
from tidemill.spec.formats.rules import MICROSECONDS
from tidemill.storage.folders import remove_folder, rename_folder
from tidemill.storage.run_context import RunContext


def earliest_ms(reports: Mapping[int, Mapping[str, Any]], rows: DataFrame) -> dict[int, float]:
    """Batch -> its earliest event time in milliseconds since the epoch; infinite where it had none.

    Nothing where the query has several watermarks: Spark reports on the times of one of them.

    Args:
        reports: Batch -> its StreamingQueryProgress.
        rows: What the query writes.
    """
    plan = Catalyst(rows.sparkSession).inlined(analysed(rows))
    if sum(kind(node) == "EventTimeWatermark" for node in nodes(plan)) > 1:
        return {}
    return {batch: _earliest_ms(report) for batch, report in reports.items()}


def _earliest_ms(report: Mapping[str, Any]) -> float:
    earliest = (report.get("eventTime") or {}).get("min")
    return math.inf if earliest is None else datetime.fromisoformat(earliest).timestamp() * 1000


class NotTellable(Exception):
    """Late rows cannot be identified for this query plan."""


@dataclass
class Lateness:
    """The late rows of one generation's batches.

    Args:
        run: The run; its log gets a line for each batch that has late rows, or may have.
    """

    session: SparkSession
    run: RunContext
    ledger: Ledger
    _rule: Rule | None = field(default=None, init=False)

    def count(self, earliest_ms: Mapping[int, float] | None = None) -> list[LateRows]:
        """Look at every batch that was not looked at, and write down what was late in it.

        Args:
            earliest_ms: Batch -> its earliest event time as Spark reports it, in milliseconds since
                the epoch; infinite where it had none.

        Returns:
            What was written down.

        Raises:
            QueryInterrupted: the input could not be read; a retry may help.
        """
        late_log = LateLog(self.ledger.layout, self.ledger.generation)
        counted = late_log.counted()
        missing = [n for n in range(self.ledger.latest() + 1) if n not in counted]
        results = []
        for number in missing:
            *earlier, batch = self.ledger.batches(max(0, number - 1), number)
            before = earlier[0] if earlier else None
            earliest = (earliest_ms or {}).get(number)
            late = late_log.put(self._late(late_log, batch, before, earliest))
            results.append(late)
            if late.unknown is not None:
                self.run.log(f"batch {number}: late rows cannot be counted: {late.unknown}")
            elif late.rows:
                self.run.log(f"batch {number}: {late.rows:,} late rows")
        return results

    def _late(
        self, late_log: LateLog, batch: Batch, before: Batch | None, earliest_ms: float | None
    ) -> LateRows:
        # Spark begins at 1970, whatever the delay.
        watermark_ms = before.watermark_before_ms if before is not None else 0
        late = LateRows(batch=batch.batch, watermark_ms=watermark_ms)
        if before is not None and batch.offsets == before.offsets:
            return late
        if earliest_ms is not None and earliest_ms > watermark_ms:
            return late
        if (batch.spec_hash, batch.code_hash) != self._today:
            return late.model_copy(update={"unknown": "spec or transform have changed since"})
        try:
            rows = self._rows(batch, before, watermark_ms)
            if rows is None:
                return late
            return late.model_copy(update={"counts": _keep(rows, late_log, batch.batch)})
        except (InputGone, NotTellable, StaticLost, TransformRefused) as error:
            return late.model_copy(update={"unknown": str(error)})
        except AnalysisException as error:
            return late.model_copy(update={"unknown": str(error).splitlines()[0]})
        except PySparkException as error:
            raise from_spark(error) from error

    @cached_property
    def _today(self) -> tuple[str, str]:
        pipeline = self.run.pipeline
        return hash_of_spec(pipeline.spec), hash_of_file(pipeline.transform_file)

    @cached_property
    def _left_out(self) -> Excluded:
        return left_out(self.run.pipeline)

    def _streams(self, statics: Statics) -> DataFrame:
        names = self.run.pipeline.spec.sources
        streams = {name: read_stream(self.session, self.run.pipeline, name) for name in names}
        return self._transformed(streams, statics)

    def _rows(self, batch: Batch, before: Batch | None, watermark_ms: int) -> DataFrame | None:
        """The late rows of a batch; None where its query passes over none."""
        statics = read_statics(self.session, self.run.pipeline, batch.static)
        if self._rule is None:
            streamed = self._streams(statics)
            self._rule = rule_of(streamed, self.run.pipeline.spec.output.mode)
        if self._rule.unclear is not None:
            raise NotTellable(self._rule.unclear)
        if not self._rule.drops:
            return None
        again = leave_out(
            read_again(self.session, self.run.pipeline, self.ledger, batch, before), self._left_out
        )
        return late_rows(self._transformed(again, statics), self._rule, watermark_ms)

    def _transformed(self, sources: Mapping[str, DataFrame], statics: Statics) -> DataFrame:
        pipeline = self.run.pipeline
        spec, path = pipeline.spec, pipeline.transform_file
        fine = {
            name: good(tag(rows, spec, name, of_transform(pipeline, name)), spec, name)
            for name, rows in sources.items()
        }
        return apply(load_transform(path), fine, spec, path, statics)


def late_rows(transformed: DataFrame, rule: Rule, watermark_ms: int) -> DataFrame:
    """The rows that operators passed over, as `ledger.late.COLUMNS`.

    Args:
        transformed: What the transform made of a batch's input, as a batch.

    Raises:
        NotTellable: the transform makes something else of a batch than of a stream.
    """
    catalyst = Catalyst(transformed.sparkSession)
    places = candidates(catalyst.inlined(analysed(transformed)))
    if tuple(kind(node) for node in places) != rule.kinds:
        msg = f"the transform makes {[kind(node) for node in places]} of a batch, and {rule.kinds}"
        raise NotTellable(f"{msg} of a stream")
    parts = [_at(drop, places[drop.place], rule, catalyst) for drop in rule.drops]
    late = [_of(part, drop, watermark_ms) for part, drop in zip(parts, rule.drops, strict=True)]
    return reduce(DataFrame.unionAll, late)


def _at(drop: Drop, node: Any, rule: Rule, catalyst: Catalyst) -> DataFrame:
    """An operator's input, without the output of other stateful operators."""
    children = sides(node)
    first = drop.place + 1 + sum(len(candidates(child)) for child in children[: drop.side])
    part = without_state(children[drop.side], rule, catalyst, count(first))
    return catalyst.frame(part)


def _of(part: DataFrame, drop: Drop, watermark_ms: int) -> DataFrame:
    """The late rows among those that an operator is given."""
    # Two columns may have the same name, so they go by number.
    rows = part.toDF(*(f"_{number}" for number in range(len(part.columns))))
    time = F.col(f"_{drop.column}")
    decides = part.schema.fields[drop.column].dataType
    if isinstance(decides, StructType):
        time = time.getField(decides.fields[1].name)
    watermark = F.timestamp_millis(F.lit(watermark_ms))
    columns = (F.col(f"_{n}").alias(name) for n, name in enumerate(part.columns))
    return rows.where(time <= watermark).select(
        F.lit(drop.operator).alias("operator"),
        F.lit(drop.source).alias("source"),
        time.alias("event_time"),
        watermark.alias("watermark"),
        F.to_json(F.struct(*columns), MICROSECONDS).alias("record"),
    )


def _keep(rows: DataFrame, log: LateLog, batch: int) -> tuple[LateCount, ...]:
    """Put rows beside the ledger, whole or not at all, and count them."""
    place = log.rows_of(batch)
    draft = place.with_name(f".{place.name}.{uuid.uuid4().hex}.draft")
    try:
        rows.write.parquet(str(draft))
        counts = counts_in(draft)
        if counts:
            # One that a driver put there before it died holds the same rows.
            with suppress(OSError):
                rename_folder(draft, place)
        return counts
    finally:
        remove_folder(draft, missing_ok=True)
