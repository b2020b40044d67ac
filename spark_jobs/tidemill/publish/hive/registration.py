"""Lets a Hive metastore name a Delta table as it is now, or forget it.

A repeated call changes nothing.
"""

import getpass
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from tidemill.contract.connections.airflow import connection
from tidemill.contract.connections.hive import metastore_of
from tidemill.contract.layout import Layout
from tidemill.contract.log import Log
from tidemill.file_formats.delta_table import open_table
from tidemill.publish.head import TableTaken
from tidemill.publish.hive.columns import hive_columns
from tidemill.publish.hive.metastore import open_metastore
from tidemill.spec.hive_table import HiveTable
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.root_identity import root_id_of
from tidemill.storage.target_names import name_in_targets

from hive_metastore.ThriftHiveMetastore import Client  # isort: skip
from hive_metastore.ttypes import (  # isort: skip
    Database,
    EnvironmentContext,
    FieldSchema,
    InvalidOperationException,
    NoSuchObjectException,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

PIPELINE, ROOT = "tidemill.pipeline", "tidemill.root"
# What Spark writes for a Delta table; Trino too goes by both.
PROVIDER, PATH = "spark.sql.sources.provider", "path"
SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
INPUT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
OUTPUT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
# Otherwise the metastore lists the table's files, also those that Delta does not name.
UNCOUNTED = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})


@dataclass(frozen=True)
class Registration:
    """What the metastore is to say of a table.

    Args:
        columns: Name, type and comment of each.
        parameters: What marks it as a Delta table, and as this pipeline's.
    """

    location: str
    columns: tuple[tuple[str, str, str | None], ...]
    parameters: Mapping[str, str]

    def is_in(self, table: Table) -> bool:
        """Whether an entry says all of it."""
        found = tuple((one.name, one.type, one.comment or None) for one in table.sd.cols)
        return (
            found == self.columns
            and _path(table) == self.location
            and self.parameters.items() <= table.parameters.items()
        )

    def written_to(self, table: Table) -> Table:
        """An entry that says it; whatever others have added stays."""
        table.parameters = {**(table.parameters or {}), **self.parameters}
        table.tableType = "EXTERNAL_TABLE"
        table.partitionKeys = []
        serde = {PATH: self.location, "serialization.format": "1"}
        table.sd = StorageDescriptor(
            cols=[FieldSchema(*one) for one in self.columns],
            location=self.location,
            inputFormat=INPUT,
            outputFormat=OUTPUT,
            serdeInfo=SerDeInfo(serializationLib=SERDE, parameters=serde),
        )
        return table


def register(pipeline: Pipeline, given: HiveTable, log: Log) -> None:
    """Let a metastore name a pipeline's Delta table.

    Args:
        log: Gets a line where something was changed.

    Raises:
        ConnectionMissing: the connection is not in the environment.
        MetastoreConnectionUnfit: it is not that of a metastore that we can talk to.
        TableTaken: the name is that of another table.
        TargetUnreachable: the metastore does not answer, or cannot do it now.
        RegistrationRefused: it refuses.
    """
    metastore = metastore_of(connection(given.conn_id), given.conn_id)
    due = _registration(pipeline)
    database, name = given.database_and_name
    with open_metastore(metastore, given.table) as client:
        found = _find(client, database, name)
        if found is None:
            _create_database(client, database)
            owner, now = metastore.user or getpass.getuser(), int(time.time())
            new = Table(dbName=database, tableName=name, owner=owner, createTime=now)
            client.create_table_with_environment_context(due.written_to(new), UNCOUNTED)
            log(f"{given.table} is the table's name in the Hive metastore")
        elif not _is_ours(found, pipeline.layout):
            raise TableTaken(
                f"{given.table} in the Hive metastore is the table at "
                f"{_path(found) or found.sd.location}, not {due.location}.",
                remedy="Name another table under `catalog`, or remove that one from the "
                "metastore; the rows are published.",
                table=given.table,
                pipeline=found.parameters.get(PIPELINE),
            )
        elif not due.is_in(found):
            _replace(client, due.written_to(found))
            log(f"{given.table} in the Hive metastore has the table's columns and comments again")


def unregister(layout: Layout, given: HiveTable) -> None:
    """Let a metastore forget a pipeline's Delta table; an entry of another table stays.

    Raises:
        ConnectionMissing: the connection is not in the environment.
        MetastoreConnectionUnfit: it is not that of a metastore that we can talk to.
        TargetUnreachable: the metastore does not answer, or cannot do it now.
        RegistrationRefused: it refuses.
    """
    metastore = metastore_of(connection(given.conn_id), given.conn_id)
    with open_metastore(metastore, given.table, "Nothing was dropped") as client:
        found = _find(client, *given.database_and_name)
        if found is not None and _is_ours(found, layout):
            client.drop_table(*given.database_and_name, False)


def _registration(pipeline: Pipeline) -> Registration:
    layout, spec = pipeline.layout, pipeline.spec
    table = open_table(layout.table)
    comment = spec.description_line or table.metadata().description
    schema = json.loads(table.schema().to_json())
    parameters = {
        "EXTERNAL": "TRUE",
        PROVIDER: "delta",
        **_owner(layout),
        **({"comment": comment} if comment else {}),
    }
    columns = tuple(hive_columns(schema, spec.descriptions))
    return Registration(_location(layout), columns, parameters)


def _owner(layout: Layout) -> dict[str, str]:
    return {PIPELINE: name_in_targets(layout), ROOT: root_id_of(layout.root) or ""}


def _location(layout: Layout) -> str:
    # Unquoted, as Spark and Trino read it.
    return str(layout.table) if "://" in str(layout.table) else f"file://{layout.table}"


def _find(client: Client, database: str, name: str) -> Table | None:
    try:
        return client.get_table(database, name)
    except NoSuchObjectException:
        return None


def _create_database(client: Client, name: str) -> None:
    try:
        client.get_database(name)
    except NoSuchObjectException:
        client.create_database(Database(name=name))


def _path(table: Table) -> str | None:
    path: str | None = (table.sd.serdeInfo.parameters or {}).get(PATH)
    return path


def _is_ours(table: Table, layout: Layout) -> bool:
    """Whether an entry is of this pipeline in this root, or of its table at this place."""
    return _owner(layout).items() <= (table.parameters or {}).items() or _path(table) == _location(
        layout
    )


def _replace(client: Client, table: Table) -> None:
    database, name = table.dbName, table.tableName
    try:
        client.alter_table_with_environment_context(database, name, table, UNCOUNTED)
    except InvalidOperationException:
        # A metastore lets no column have another type; a rebuild does.
        client.drop_table(database, name, False)
        client.create_table_with_environment_context(table, UNCOUNTED)
