"""Where a pipeline's passed increments become visible: the targets under `publish:`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from spark_jobs.contract.model import Column, Model, PlainName

# Quoted all the same; this keeps names that need no thought in logs, errors and other tools.
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")]
DatabaseMode = Literal["append", "upsert", "replace"]


class DeltaTarget(Model):
    """The published Delta table."""

    kind: Literal["delta"] = "delta"

    @property
    def name(self) -> str:
        """What the journal calls it."""
        return "delta"


class FilesTarget(Model):
    """A list of the sink's files that passed, for formats that no table can name."""

    kind: Literal["files"]

    @property
    def name(self) -> str:
        return "files"


class DatabaseTarget(Model):
    """A table of a database.

    Attributes:
        conn_id: The Airflow connection.
        table: Its name; created where it does not exist.
        schema_: The schema (PostgreSQL) or database (MariaDB) it lies in; the connection's own
            where not given.
        mode: `append`, `upsert` by `output.keys`, or `replace`; by the output mode where not given.
    """

    conn_id: PlainName
    table: Identifier
    schema_: Identifier | None = Field(default=None, alias="schema")
    mode: DatabaseMode | None = None


class PostgresTarget(DatabaseTarget):
    """A table in PostgreSQL."""

    kind: Literal["postgres"]

    @property
    def name(self) -> str:
        return f"postgres.{self.table}"


class MariaDbTarget(DatabaseTarget):
    """A table in MariaDB or MySQL."""

    kind: Literal["mariadb"]

    @property
    def name(self) -> str:
        return f"mariadb.{self.table}"


class KafkaTarget(Model):
    """A topic, or several.

    Attributes:
        conn_id: The Airflow connection.
        topic: Where every row goes; exactly one of `topic` and `topic_column` is given.
        topic_column: The column that names a row's topic.
        key: Columns of the record's key; text where it is one column, JSON where several.
        value: `json` of all other columns, or the text of one column.
    """

    kind: Literal["kafka"]
    conn_id: PlainName = "tidemill_kafka"
    topic: str | None = None
    topic_column: Column | None = None
    key: tuple[Column, ...] = ()
    value: Literal["json", "csv"] | dict[Literal["text"], Column] = "json"

    @property
    def name(self) -> str:
        return f"kafka.{self.topic or self.topic_column}"


Target = Annotated[
    DeltaTarget | FilesTarget | PostgresTarget | MariaDbTarget | KafkaTarget,
    Field(discriminator="kind"),
]
