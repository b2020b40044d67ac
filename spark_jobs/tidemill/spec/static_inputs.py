"""Static inputs: tables that a stream is joined with, the same for the whole of a batch."""

from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from tidemill.spec.formats.table import FORMATS, FileFormat
from tidemill.spec.model import Disagreement, Model, Name, PlainName
from tidemill.spec.sources.base import Ddl, OptionValue, checked_columns
from tidemill.spec.sources.fetch import Bucket, Fetch
from tidemill.spec.sources.file import FileSource, LocalPath

# Objects are listed as files below it; their copies are in the pipeline's own folder.
KEYS_ROOT = "/"


class BaseStatic(Model):
    """The fields that every static input has.

    Attributes:
        kind: Where it comes from.
        broadcast: Send the whole of it to every task: Spark's hint of that name.
        persist: Keep it in memory over the batches of a run.
    """

    kind: str
    broadcast: bool = False
    persist: bool = False

    @property
    def jar_sets(self) -> frozenset[str]:
        """The sets of jars that reading it needs beside Spark's own."""
        return frozenset()

    @property
    def ddl(self) -> str | None:
        """The columns as Spark DDL; None where the spec does not name them."""
        return None

    @property
    def as_source(self) -> FileSource | None:
        """The files as a source, which is listed in the same way; None where they are not one."""
        return None

    @property
    def reads_pipeline(self) -> str | None:
        """The pipeline whose published table it is; None where it is not a such table."""
        return None


class FileStatic(BaseStatic):
    """Files that are read whole; a list of them, with sizes and times, is the pin.

    A file that Spark cannot read as the schema says is an error: for a static row it is unknown
    which rows of the stream it has cost.

    Attributes:
        format: The format of the files.
        path: A directory, a file or a glob.
        fetch: The object store that the files are copied from, in place of `path`.
        schema_: The columns, as Spark DDL.
        options: The options of Spark's reader, by Spark's names.
    """

    kind: Literal["file"] = "file"
    format: FileFormat
    path: LocalPath | None = None
    fetch: Bucket | None = None
    schema_: Ddl = Field(alias="schema")
    options: dict[str, OptionValue] = {}

    @field_validator("schema_")
    @classmethod
    def _readable(cls, ddl: str) -> str:
        return checked_columns(ddl)

    @model_validator(mode="after")
    def _is_in_one_place(self) -> Self:
        if (self.path is None) is (self.fetch is None):
            raise Disagreement("give path or fetch, and only one of them", "path")
        return self

    @model_validator(mode="after")
    def _options_have_their_place(self) -> Self:
        for name in self.options:
            refused = FORMATS[self.format].reader_option_refused(name)
            if refused is None and name.lower() == "basepath":
                refused = "option 'basePath' is set by the engine; remove it"
            if refused:
                raise Disagreement(refused, "options", name)
        return self

    @model_validator(mode="after")
    def _can_be_listed(self) -> Self:
        try:
            _ = self.as_source
        except ValidationError as error:
            first = error.errors()[0]
            why = first.get("ctx", {}).get("error")
            at = why.at if isinstance(why, Disagreement) else first["loc"]
            raise Disagreement(first["msg"].removeprefix("Value error, "), *at) from error
        return self

    @property
    def jar_sets(self) -> frozenset[str]:
        return self.as_source.jar_sets

    @property
    def ddl(self) -> str:
        return self.schema_

    @property
    def conn_id(self) -> str | None:
        """The Airflow connection of the object store that its files come from."""
        return self.fetch.conn_id if self.fetch else None

    @property
    def place(self) -> str:
        """The path or URL of its files."""
        return self.fetch.url if self.fetch else str(self.path)

    @property
    def as_source(self) -> FileSource:
        return FileSource(
            format=self.format,
            path=self.path or KEYS_ROOT,
            fetch=Fetch(url=self.fetch.url, conn_id=self.conn_id) if self.fetch else None,
            schema=self.schema_,
            options=self.options,
        )


class TableStatic(BaseStatic):
    """The published table of another pipeline; its Delta version is the pin.

    Attributes:
        pipeline: The pipeline that publishes the table, under the same `TIDEMILL_ROOT`.
    """

    kind: Literal["table"]
    pipeline: Name

    @property
    def reads_pipeline(self) -> str:
        return self.pipeline


class DatabaseStatic(BaseStatic):
    """The rows of a query to a database; the copy of them that a run makes is the pin.

    Attributes:
        conn_id: The Airflow connection.
        query: A SELECT, which sees one moment of the database.
        schema_: The columns of its rows, in order, as Spark DDL.
    """

    conn_id: PlainName
    query: Annotated[str, StringConstraints(min_length=1)]
    schema_: Ddl = Field(alias="schema")

    @property
    def ddl(self) -> str:
        return self.schema_

    @field_validator("schema_")
    @classmethod
    def _readable(cls, ddl: str) -> str:
        return checked_columns(ddl)


class PostgresStatic(DatabaseStatic):
    """Rows of PostgreSQL."""

    kind: Literal["postgres"]


class MariaDbStatic(DatabaseStatic):
    """Rows of MariaDB or MySQL; a time without a zone is in UTC."""

    kind: Literal["mariadb"]


class BatchStatic(BaseStatic):
    """One row about the run that took a batch in; the same when the batch is computed again.

    Its columns are `at` (when the run began to read), `run_id`, and `interval_start` and
    `interval_end`: the data interval of Airflow's run, null for a run without one.
    """

    kind: Literal["batch"]

    @property
    def ddl(self) -> str:
        return "at timestamp, run_id string, interval_start timestamp, interval_end timestamp"


Static = Annotated[
    FileStatic | TableStatic | PostgresStatic | MariaDbStatic | BatchStatic,
    Field(discriminator="kind"),
]
