"""A Kafka source without a JVM: what its topics hold, and what surrounds a query that reads them.

What is written down here is written under the lease, where no one else moves the source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tidemill.contract.connections.airflow import connection
from tidemill.contract.errors import TidemillError, TransientError
from tidemill.journal.takeovers import generation_of
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.losses import Losses, PassedLoss
from tidemill.sources.input_part import InputPart
from tidemill.sources.kafka.broker import Broker, Topic
from tidemill.sources.kafka.held_records import verify_records
from tidemill.sources.kafka.lag import record_arrivals
from tidemill.sources.kafka.probe import KafkaProbeResult, probe
from tidemill.sources.kafka.schema_registry import RegistryUnreachable, open_registry
from tidemill.sources.kafka.topics import record_topics, topics_today, verify_topics
from tidemill.sources.kafka.writer_schemas import WriterSchemas, subjects_of
from tidemill.sources.open_source import OpenSource
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.offset_ranges import Range, as_offsets, between, ends_of
from tidemill.spec.sources.kafka import KafkaSource, Offsets
from tidemill.storage.run_context import LeasedRun


@dataclass(frozen=True)
class OpenKafkaSource(OpenSource[KafkaSource]):
    """Topics of a broker."""

    def probe(self, batches: Sequence[Batch]) -> KafkaProbeResult:
        return probe(self.name, self.spec, self.pipeline, batches, self.environ)

    def fetch(self, run: LeasedRun) -> None:
        conn_id = self.spec.value.registry
        if conn_id is None:
            return
        schemas = WriterSchemas(run.layout, conn_id, run.clock)
        try:
            with open_registry(conn_id, self.environ) as registry:
                schemas.follow(registry, subjects_of(self.spec.topics or ()))
        except RegistryUnreachable as error:
            # Values of kept schemas need no registry; one of another schema ends the query.
            run.log(f"sources.{self.name}: going on with the schemas that are kept. {error.what}")

    def partitions(self) -> int:
        return sum(len(topic.partitions) for topic in self._topics().values())

    def lost(self, part: InputPart) -> InputPart:
        topics = self._topics()
        begin = self._earliest(topics)
        ranges = tuple(
            rest for one in part.ranges[self.name] if (rest := _before(one, begin)) is not None
        )
        compacted = any("compact" in topic.cleanup_policy for topic in topics.values())
        return replace(
            part,
            ranges={self.name: ranges} if ranges else {},
            compacted=(self.name,) if compacted else (),
        )

    def verify_held(self, generation: str, ranges: Sequence[Range]) -> None:
        layout, name = self.pipeline.layout, self.name
        verify_records(layout, generation, name, self.spec, ranges, self.environ)

    def beginning(self, began: Offsets) -> Offsets:
        return {
            topic: {n: max(offset, began.get(topic, {}).get(n, 0)) for n, offset in ends.items()}
            for topic, ends in self._earliest(self._topics()).items()
        }

    def record_query(self, run: LeasedRun, result: ProbeResult) -> None:
        if not isinstance(result, KafkaProbeResult):
            return
        generation = generation_of(self.pipeline)
        self._record_passed_loss(run, generation, result)
        record_topics(run.layout, generation, self.name, result.today)
        seen = result.seen.model_copy(update={"epoch": run.epoch})
        record_arrivals(run.layout, generation, self.name, seen)

    def verify_query(self, generation: str) -> None:
        verify_topics(self.pipeline.layout, generation, self.name, self._topics(), {})

    def explain(self, failure: TidemillError) -> TidemillError | None:
        # Spark says only that a range could not be read, and only in its log.
        of_kafka = str(failure.data.get("condition", "")).startswith("KAFKA")
        if not of_kafka and not isinstance(failure, TransientError):
            return None
        try:
            return self.probe(()).held
        except TidemillError as error:
            return error

    @cached_property
    def _broker(self) -> Broker:
        return Broker(connection(self.spec.conn_id, self.environ))

    def _topics(self) -> Mapping[str, Topic]:
        return topics_today(self.name, self.spec, self._broker)

    def _earliest(self, topics: Mapping[str, Topic]) -> Offsets:
        partitions = {topic.name: topic.partitions for topic in topics.values()}
        return self._broker.offsets(partitions, "earliest")

    def _record_passed_loss(
        self, run: LeasedRun, generation: str, result: KafkaProbeResult
    ) -> None:
        """Record a loss whose driver died after the batch that passed over it."""
        losses = Losses(run.layout, generation, self.name)
        loss = losses.waiting()
        if loss is None or result.read is None:
            return
        after = ends_of(loss.ranges)
        if between(result.read.offsets, after):
            return
        batches = Ledger(run.layout, generation).batches()
        passed = (
            batch.batch
            for batch in batches
            if not between(as_offsets(batch.offsets.get(self.name)), after)
        )
        losses.passed_over(
            PassedLoss(
                number=loss.number,
                batch=next(passed, None),
                run_id=run.run_id,
                passed=run.clock(),
            )
        )


def _before(one: Range, begin: Offsets) -> Range | None:
    """The part of a range before a beginning; all of it if the partition is gone."""
    until = min(one.until, begin.get(one.topic, {}).get(one.partition, one.until))
    return one.model_copy(update={"until": until}) if one.first < until else None
