"""Runs a query again when a value has a schema id that no schema is kept for.

Before a query starts, its run keeps the schemas of its topics' subjects. A producer may register
another one at any time, or under any subject. So a value of an unseen id ends the query before its
batch counts; the ids of the whole batch are asked for at once, and the batch runs again.
"""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.errors import PySparkException

from tidemill.engine.frame_errors import SchemaIdUnseen
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.run.query_run import QueryRun, Ran
from tidemill.engine.sources.static_inputs import Pins, Statics
from tidemill.engine.spark_errors import from_spark
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file, read_initial_offsets
from tidemill.spark_logs.offset_ranges import Range, as_offsets, between
from tidemill.spec.sources.kafka import KafkaSource


def run_to_the_end(
    query: QueryRun, pins: Pins, planned: tuple[Plan, Statics], backlog: Mapping[str, ProbeResult]
) -> Ran:
    """Run a query, as often as it meets schema ids that the registry was not asked for.

    Args:
        pins: What the query was planned with.
        planned: The query and its static inputs, as `QueryRun.plan` gives them.
        backlog: Source -> what waits there.

    Raises:
        RegistryUnreachable: a schema is needed, and the registry does not answer.
        WriterSchemaUnfit: a schema cannot be read as the spec's columns.
        QueryFailed: the same error will come again.
        QueryInterrupted: a retry may help.
    """
    before = query.generation.ledger.latest()
    asked: set[int] = set()
    while True:
        try:
            ran = query.run(*planned, backlog)
        except SchemaIdUnseen as unseen:
            if unseen.schema_id in asked:
                raise
            asked.add(unseen.schema_id)
            query = replace(query, generation=open_generation(query.context.pipeline))
            _keep_schemas(query, unseen)
            planned = query.plan(pins)
        else:
            if not asked:
                return ran
            # Batches before the one that met the id are in the ledger too.
            return replace(ran, batches=tuple(query.generation.ledger.batches(before + 1)))


def _keep_schemas(query: QueryRun, unseen: SchemaIdUnseen) -> None:
    """Ask the registry for every id of the batch that ended, and keep what it says."""
    # A pipeline without Kafka needs no client of a registry.
    from tidemill.engine.sources.framed_values import ids_not_kept, writers_of
    from tidemill.engine.sources.kafka import records_between, spans
    from tidemill.sources.kafka.schema_registry import open_registry
    from tidemill.sources.kafka.writer_schemas import MOST_UNKNOWN, WriterSchemas

    run, ids = query.context, {unseen.schema_id}
    sources = run.pipeline.spec.sources_of(KafkaSource)
    of_registry = {n: one for n, one in sources.items() if one.value.registry == unseen.conn_id}
    try:
        for name, source in of_registry.items():
            writers = writers_of(query.session, run.layout, source.value)
            for span in spans(_ranges(query.generation, name)):
                records = records_between(query.session, source, *span)
                if writers is not None:
                    ids.update(ids_not_kept(records, writers, MOST_UNKNOWN))
    except PySparkException as error:
        raise from_spark(error) from error
    run.lease.check()
    with open_registry(unseen.conn_id) as registry:
        WriterSchemas(run.layout, unseen.conn_id, run.clock).ask(registry, ids)
    asked = ", ".join(map(str, sorted(ids)))
    run.log(f"asked the registry of '{unseen.conn_id}' for schema ids {asked}; reading again")


def _ranges(generation: Generation, source: str) -> tuple[Range, ...]:
    """The records of a source in the last planned batch."""
    planned, number = generation.checkpoint.offsets, generation.planned
    if number not in planned:
        return ()
    before = planned.get(number - 1)
    beginning = initial_offsets_file(generation.ledger.layout, generation.name, source)
    first = as_offsets(before.sources.get(source)) if before else {}
    return between(
        first or read_initial_offsets(beginning) or {},
        as_offsets(planned[number].sources.get(source)),
    )
