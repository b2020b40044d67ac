"""Where a pipeline's passed increments become visible: the targets under `publish:`."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from tidemill.contract.syntax.quantities import Size
from tidemill.spec.base_target import BaseTarget, target_name
from tidemill.spec.database_names import (
    MARIADB_KEY,
    POSTGRES_WHOLE_KEY,
    key_unfit_for_mariadb,
    unfit_for_mariadb,
    unfit_for_postgres,
)
from tidemill.spec.hive_table import HiveTable
from tidemill.spec.iceberg_target import IcebergTarget
from tidemill.spec.model import Column, Disagreement, Model, PlainName, Topic
from tidemill.spec.output import Output, OutputMode
from tidemill.spec.sources.base import OptionValue
from tidemill.spec.table_properties import TableProperties, check_delta

# Quoted all the same; this keeps names that need no thought in logs, errors and other tools.
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")]
DatabaseMode = Literal["append", "upsert", "replace"]
# Output mode -> how a database can take it so that its table equals the published rows; the first
# is the default.
DATABASE_MODES: dict[OutputMode, tuple[DatabaseMode, ...]] = {
    OutputMode.APPEND: ("append", "upsert"),
    OutputMode.UPDATE: ("upsert",),
    OutputMode.COMPLETE: ("replace",),
}
# What we need for ourselves beside the tables.
RESERVED = ("tidemill_heads", "tidemill_staging")


class Compact(Model):
    """How `tidemill compact` writes small files of the table again as larger ones.

    Attributes:
        target_size: The size of a new file; files of less than half of it are small.
        sort_by: The columns that the rows of a new file are sorted by, so that readers who ask for
            few values skip more. The files of one new file are then read into memory.
    """

    target_size: Annotated[Size, Field(gt=0)] = 128 * 2**20
    sort_by: tuple[Column, ...] = ()


class DeltaTarget(BaseTarget):
    """The published Delta table.

    Attributes:
        compact: How `tidemill compact` writes its small files again; with it `tidemill upkeep` does
            so too.
        catalog: A name for the table in a catalogue; after each publish that has the table's
            columns and comments of then.
        table_properties: Properties of the table, by Delta's names, such as
            `delta.logRetentionDuration: interval 60 days`. The next publish sets what has changed.
    """

    kind: Literal["delta"] = "delta"
    compact: Compact | None = None
    catalog: HiveTable | None = None
    table_properties: TableProperties = {}

    @model_validator(mode="after")
    def _properties_are_known(self) -> Self:
        check_delta(self.table_properties)
        return self

    @property
    def conn_id(self) -> str | None:
        """The connection of the catalogue."""
        return self.catalog.conn_id if self.catalog else None

    @property
    def columns_named(self) -> tuple[tuple[str, str], ...]:
        return tuple(("compact.sort_by", name) for name in (self.compact or Compact()).sort_by)

    def agree(self, output: Output, *at: str | int) -> None:
        for name in (self.compact or Compact()).sort_by:
            if name in output.partition_by:
                msg = f"{name} is a partition column: all rows of a file have the same value"
                raise Disagreement(msg, *at, "compact", "sort_by")


class FilesTarget(BaseTarget):
    """A list of the sink's files that passed, for formats that no table can name."""

    kind: Literal["files"]

    def cannot_swap(self, output: Output) -> str | None:
        if output.mode is not OutputMode.APPEND and output.partition_by:
            return f"files of output mode {output.mode} hold rows of several partitions"
        return None


class DatabaseTarget(BaseTarget):
    """A table of a database.

    Attributes:
        conn_id: The Airflow connection.
        table: Its name; created where it does not exist.
        schema_: The schema (PostgreSQL) or database (MariaDB) it is in; the connection's own
            where not given.
        mode: `append`, `upsert` by `output.keys`, or `replace`; by the output mode where not given.
        unstorable: What becomes of values that the database has no place for (a NUL in PostgreSQL's
            texts; NaN and infinity in MariaDB): `refuse` the increment, or store null (`as_null`).
    """

    remote_head = True
    conn_id: PlainName
    table: Identifier
    schema_: Identifier | None = Field(default=None, alias="schema")
    mode: DatabaseMode | None = None
    unstorable: Literal["refuse", "as_null"] = "refuse"

    @property
    def name(self) -> str:
        # Another server or schema is another target, which gets everything from the beginning.
        return target_name(
            self.kind, self.conn_id, *([self.schema_] if self.schema_ else []), self.table
        )

    @property
    def held_in(self) -> str:
        return f"the table of {self.name} and its row in tidemill_heads"

    @field_validator("table")
    @classmethod
    def _is_not_ours(cls, table: str) -> str:
        if table.lower() in RESERVED:
            msg = f"'{table}' is kept for Tidemill's own use; give the table another name"
            raise ValueError(msg)
        return table

    def mode_for(self, output: OutputMode) -> DatabaseMode:
        return self.mode or DATABASE_MODES[output][0]

    def upserts(self, mode: OutputMode) -> bool:
        return self.mode_for(mode) == "upsert"

    def agree(self, output: Output, *at: str | int) -> None:
        allowed = DATABASE_MODES[output.mode]
        if self.mode_for(output.mode) not in allowed:
            msg = (
                f"{self.mode} does not keep a table equal to output mode {output.mode}; "
                f"use {' or '.join(allowed)}"
            )
            raise Disagreement(msg, *at, "mode")


class PostgresTarget(DatabaseTarget):
    """A table in PostgreSQL."""

    kind: Literal["postgres"]

    def column_refused(self, name: str) -> str | None:
        return unfit_for_postgres(name)

    @property
    def longest_whole_key(self) -> int:
        return POSTGRES_WHOLE_KEY


class MariaDbTarget(DatabaseTarget):
    """A table in MariaDB, or in MySQL 8 or newer.

    Where texts are keys, MySQL before 8.0.17 refuses those that end with a space.
    """

    kind: Literal["mariadb"]

    def column_refused(self, name: str) -> str | None:
        return unfit_for_mariadb(name)

    def longest_key(self, kind: str) -> int | None:
        return MARIADB_KEY.get(kind)

    def key_refused(self, kinds: Sequence[str]) -> str | None:
        return key_unfit_for_mariadb(kinds)


class KafkaTarget(BaseTarget):
    """A topic, or several.

    Attributes:
        conn_id: The Airflow connection.
        topic: Where every row goes; exactly one of `topic` and `topic_column` is given.
        topic_column: The column that names a row's topic.
        key: Columns of the record's key; text where it is one column, JSON where several.
        value: All columns but key and topic as one `json` object or one `csv` line, or the text of
            one column.
        transactional_id: Makes each event one transaction of Kafka's, which consumers with
            `isolation.level: read_committed` see once; no other producer may have the same id.
    """

    kind: Literal["kafka"]
    conn_id: PlainName = "tidemill_kafka"
    topic: Topic | None = None
    topic_column: Column | None = None
    key: tuple[Column, ...] = ()
    value: Literal["json", "csv"] | dict[Literal["text"], Column] = "json"
    transactional_id: Topic | None = None

    @property
    def name(self) -> str:
        return target_name("kafka", self.conn_id, self.topic or f"by-{self.topic_column}")

    @property
    def columns_named(self) -> tuple[tuple[str, str], ...]:
        named = [("key", name) for name in self.key]
        named += [("topic_column", self.topic_column)] if self.topic_column else []
        named += [("value.text", self.value["text"])] if isinstance(self.value, dict) else []
        return tuple(named)

    @model_validator(mode="after")
    def _goes_somewhere(self) -> Self:
        if (self.topic is None) == (self.topic_column is None):
            msg = "give either topic or topic_column"
            raise ValueError(msg)
        return self


class PythonTarget(BaseTarget):
    """A target of one's own, as `publish/target.py` describes it.

    Attributes:
        target: `module:Class` in the project's `spark_jobs/targets/module.py`, or a class of an
            installed package, `package.module:Class`.
        conn_id: An Airflow connection that it wants to find in its environment.
        options: For the class.
    """

    kind: Literal["python"]
    target: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    conn_id: PlainName | None = None
    options: dict[str, OptionValue] = {}

    @property
    def name(self) -> str:
        return target_name("python", self.target.replace(":", "."), *filter(None, [self.conn_id]))


Target = Annotated[
    DeltaTarget
    | FilesTarget
    | PostgresTarget
    | MariaDbTarget
    | KafkaTarget
    | IcebergTarget
    | PythonTarget,
    Field(discriminator="kind"),
]
