"""What a step read and wrote, as OpenLineage's datasets and facets.

Airflow's OpenLineage provider asks for it when a task has ended, and sends it where its
`[openlineage]` section says. The provider is an extra: `pip install tidemill[openlineage]`. The
names of datasets follow OpenLineage's naming: https://openlineage.io/docs/spec/naming.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import Any

import attr
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.sdk import BaseHook
from openlineage.client.event_v2 import Dataset, InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    data_quality_assertions_dataset,
    dataset_version_dataset,
    output_statistics_output_dataset,
    schema_dataset,
)
from openlineage.client.generated.base import RunFacet

from tidemill.contract import report as reports
from tidemill.contract.report import Report, Step
from tidemill.contract.syntax.ddl import column_types
from tidemill.increments.increments import Increments
from tidemill.increments.judgement import ExpectationOutcome, Judgement
from tidemill.ledger.reprocessed_run import current_run_folder
from tidemill.spec.base_target import BaseTarget
from tidemill.spec.iceberg_target import IcebergTarget
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.base import BaseSource
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.targets import (
    DeltaTarget,
    FilesTarget,
    KafkaTarget,
    MariaDbTarget,
    PostgresTarget,
)

Lineage = OperatorLineage[Dataset, RunFacet]
Name = tuple[str, str]
PORTS = {"kafka": 9092, "mysql": 3306, "postgres": 5432}


@attr.define
class IncrementRunFacet(RunFacet):
    """The increments that a step sealed, judged or published, as its report has them."""

    pipeline: str
    increments: list[dict[str, Any]]


def lineage_of(pipelines: Iterable[Pipeline], step: Step, run_id: str) -> Lineage:
    """The lineage of a step's task, of each pipeline whose report says that it is done."""
    whole = Lineage()
    for pipeline in pipelines:
        report = reports.read(current_run_folder(pipeline.layout, run_id), step)
        if report is not None:
            whole = whole.merge(_of_step(pipeline, report))
    return whole


def _of_step(pipeline: Pipeline, report: Report) -> Lineage:
    facts = report.facts
    match report.step:
        case "ingest" if "rows" in facts:
            rows = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                rowCount=facts["rows"]
            )
            return Lineage(
                inputs=list(_inputs(pipeline)),
                outputs=[OutputDataset(*_sink(pipeline), outputFacets={"outputStatistics": rows})],
            )
        case "gate" if "increment" in facts:
            return Lineage(
                inputs=[_judged(pipeline, facts["increment"])],
                run_facets=_increments(pipeline, [{"increment": facts["increment"]}]),
            )
        case "publish" if facts.get("published"):
            return Lineage(
                inputs=[InputDataset(*_sink(pipeline))],
                outputs=list(_outputs(pipeline, facts["published"])),
                run_facets=_increments(pipeline, facts["published"]),
            )
    return Lineage()


def _increments(pipeline: Pipeline, increments: list[dict[str, Any]]) -> dict[str, Any]:
    return {"tidemill_increments": IncrementRunFacet(pipeline.name, increments)}


def _sink(pipeline: Pipeline) -> Name:
    return "file", str(pipeline.layout.increments)


def _inputs(pipeline: Pipeline) -> Iterator[Dataset]:
    for source in pipeline.spec.sources.values():
        facets: dict[str, Any] = {"schema": _schema(source.ddl)} if source.ddl else {}
        for name in source_names(source):
            yield InputDataset(*name, facets=facets)


def _schema(ddl: str) -> schema_dataset.SchemaDatasetFacet:
    return schema_dataset.SchemaDatasetFacet(
        fields=[
            schema_dataset.SchemaDatasetFacetFields(name=name, type=column.name)
            for name, column in column_types(ddl).items()
        ]
    )


def _judged(pipeline: Pipeline, increment: int) -> Dataset:
    store = Increments(pipeline.layout.increments)
    verdict = store.read(store.sealed(increment), superseded=False).verdict
    outcomes: tuple[ExpectationOutcome, ...] = ()
    if verdict is not None and verdict.judgement:
        outcomes = Judgement.model_validate(verdict.judgement).outcomes
    facet = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
        assertions=[
            data_quality_assertions_dataset.Assertion(
                assertion=outcome.type,
                success=outcome.success,
                column=", ".join(outcome.columns) or None,
                severity="error" if outcome.severity == "critical" else "warn",
            )
            for outcome in outcomes
        ]
    )
    return InputDataset(*_sink(pipeline), inputFacets={"dataQualityAssertions": facet})


def _outputs(pipeline: Pipeline, published: list[dict[str, Any]]) -> Iterator[Dataset]:
    rows = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=sum(event["rows"] for event in published)
    )
    # The version is the head's, the first target's; each target gets the same rows.
    version = dataset_version_dataset.DatasetVersionDatasetFacet(str(published[-1]["version"]))
    for place, target in enumerate(pipeline.spec.publish):
        facets: dict[str, Any] = {} if place else {"version": version}
        for name in target_names(target, pipeline):
            yield OutputDataset(*name, facets=facets, outputFacets={"outputStatistics": rows})


@singledispatch
def source_names(source: BaseSource) -> tuple[Name, ...]:
    """Namespace and name of each dataset that a source reads; none where it has no known one."""
    return ()


@source_names.register
def _of_files(source: FileSource) -> tuple[Name, ...]:
    return (("file", str(source.directory)),)


@source_names.register
def _of_topics(source: KafkaSource) -> tuple[Name, ...]:
    return tuple((_broker(source.conn_id), topic) for topic in source.topics or ())


@singledispatch
def target_names(target: BaseTarget, pipeline: Pipeline) -> tuple[Name, ...]:
    """Namespace and name of each dataset that a target is; none where it has no known one."""
    return ()


@target_names.register(DeltaTarget)
def _of_delta(target: DeltaTarget, pipeline: Pipeline) -> tuple[Name, ...]:
    return (("file", str(pipeline.layout.table)),)


@target_names.register(FilesTarget)
def _of_list(target: FilesTarget, pipeline: Pipeline) -> tuple[Name, ...]:
    return (("file", str(pipeline.layout.published)),)


@target_names.register(PostgresTarget)
def _of_postgres(target: PostgresTarget, pipeline: Pipeline) -> tuple[Name, ...]:
    namespace, database = _server("postgres", target.conn_id)
    return ((namespace, f"{database}.{target.schema_ or 'public'}.{target.table}"),)


@target_names.register(MariaDbTarget)
def _of_mariadb(target: MariaDbTarget, pipeline: Pipeline) -> tuple[Name, ...]:
    namespace, database = _server("mysql", target.conn_id)
    return ((namespace, f"{target.schema_ or database}.{target.table}"),)


@target_names.register(KafkaTarget)
def _of_topic(target: KafkaTarget, pipeline: Pipeline) -> tuple[Name, ...]:
    return ((_broker(target.conn_id), target.topic),) if target.topic else ()


@target_names.register(IcebergTarget)
def _of_iceberg(target: IcebergTarget, pipeline: Pipeline) -> tuple[Name, ...]:
    return ((f"iceberg://{target.catalog}", target.table),)


def _broker(conn_id: str) -> str:
    connection = BaseHook.get_connection(conn_id)
    named = str(connection.extra_dejson.get("bootstrap.servers") or "")
    first = named.split(",")[0] or f"{connection.host}:{connection.port or PORTS['kafka']}"
    return f"kafka://{first}"


def _server(kind: str, conn_id: str) -> tuple[str, str]:
    """The namespace of a database's server, and the database."""
    connection = BaseHook.get_connection(conn_id)
    port = connection.port or PORTS[kind]
    return f"{kind}://{connection.host or 'localhost'}:{port}", connection.schema or ""
