"""Opens the targets of a spec; each connects only when it has something to apply."""

from tidemill.contract.log import Log
from tidemill.publish.delta.target import DeltaTarget
from tidemill.publish.files_target import FilesTarget
from tidemill.publish.python_target import PythonTarget
from tidemill.publish.target import Target
from tidemill.spec import targets as given
from tidemill.spec.iceberg_target import IcebergTarget as IcebergGiven
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.target_names import name_in_targets


def targets_of(pipeline: Pipeline, epoch: int, log: Log) -> list[Target]:
    """A pipeline's targets, the head target first.

    Args:
        epoch: The epoch of the lease that its caller holds.
        log: Gets lines for the task log.
    """
    return [open_target(target, pipeline, epoch, log) for target in pipeline.spec.publish]


def open_target(target: given.Target, pipeline: Pipeline, epoch: int, log: Log) -> Target:
    """One of a pipeline's targets, opened."""
    match target:
        case given.DeltaTarget():
            return DeltaTarget(
                pipeline.layout,
                epoch,
                descriptions=pipeline.spec.descriptions,
                comment=pipeline.spec.description_line,
                properties=target.table_properties,
            )
        case given.PostgresTarget():
            from tidemill.publish.database.postgres_target import PostgresTarget

            return PostgresTarget(target, layout=pipeline.layout, epoch=epoch, log=log)
        case given.MariaDbTarget():
            from tidemill.publish.database.mariadb_target import MariaDbTarget

            return MariaDbTarget(target, layout=pipeline.layout, epoch=epoch, log=log)
        case given.PythonTarget():
            return PythonTarget(target, pipeline, epoch, log)
        case given.KafkaTarget():
            from tidemill.publish.kafka_target import KafkaTarget

            return KafkaTarget(target, pipeline=name_in_targets(pipeline.layout))
        case IcebergGiven():
            from tidemill.publish.iceberg.target import IcebergTarget

            spec = pipeline.spec
            return IcebergTarget(
                target, pipeline.layout, epoch, spec.descriptions, spec.description_line
            )
        case given.FilesTarget():
            return FilesTarget(pipeline.layout, epoch)
