"""The spec: what to run, as one frozen model that Airflow and Spark both read.

Fields that Spark has a name for carry Spark's own name (`maxFilesPerTrigger`). Event time,
partition expressions and row rules live here and not in the transform, so that a change of code can
never move a row to another interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from spark_jobs.contract.ddl import column_names
from spark_jobs.contract.quantities import Duration, Size

ENGINE_PREFIX = "_"
REJECTED = "_rejected"
DEFAULT_OPTIONS: dict[str, dict[str, str]] = {
    # A header that does not match the schema is an error, not columns silently swapped.
    "csv": {"header": "true", "enforceSchema": "false"},
    "json": {},
    "parquet": {},
}
SECRET = re.compile(r"passw|secret|token|api_?key|credential", re.IGNORECASE)
ENGINE_OPTIONS = frozenset({"path", "schema", "mode", "columnnameofcorruptrecord", "cleansource"})


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        msg = f"'{name}' is no time zone; use a name such as Europe/London or UTC"
        raise ValueError(msg) from error
    return name


def _stays_inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or len(path.parts) != 1:
        msg = f"'{name}' must be a plain name, without folders"
        raise ValueError(msg)
    return name


Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Column = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
PlainName = Annotated[str, AfterValidator(_stays_inside), StringConstraints(min_length=1)]


class Trigger(StrEnum):
    """How a run takes what is there: in bounded batches, or all in one."""

    AVAILABLE_NOW = "available_now"
    ONCE = "once"


class SilentLoss(StrEnum):
    """What the doctor does about input that Spark would pass over without a word."""

    REFUSE = "refuse"
    WARN = "warn"
    IGNORE = "ignore"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expect(_Model):
    """How often the feed arrives; a feed that is overdue fails the run instead of staying green."""

    every: Duration
    grace: Duration = timedelta(0)


class FileSource(_Model):
    """Files that appear in a directory.

    Attributes:
        path: The directory (or glob) that Spark lists.
        schema_: The columns, as Spark DDL; never inferred.
        options: Spark's reader options by Spark's names.
        maxFilesPerTrigger: Most files one batch may take.
        changed: What to do when a file that was read has changed since.
        too_old: What to do when a file is older than `maxFileAge` lets Spark see.
    """

    kind: Literal["file"] = "file"
    format: Literal["csv", "json", "parquet"]
    path: Annotated[str, StringConstraints(min_length=1)]
    schema_: Annotated[str, StringConstraints(min_length=1)] = Field(alias="schema")
    options: dict[str, str | bool | int] = {}
    maxFilesPerTrigger: Annotated[int, Field(gt=0)] = 1000
    maxFileAge: Duration | None = None
    latestFirst: bool = False
    changed: SilentLoss = SilentLoss.REFUSE
    too_old: SilentLoss = SilentLoss.REFUSE

    @field_validator("schema_")
    @classmethod
    def _readable(cls, ddl: str) -> str:
        names = column_names(ddl)
        doubled = _doubled(names)
        if doubled:
            msg = f"column '{doubled}' is given twice; Spark's columns know no case"
            raise ValueError(msg)
        reserved = [name for name in names if name.startswith(ENGINE_PREFIX)]
        if reserved:
            msg = f"column '{reserved[0]}' begins with '_', which is kept for the engine"
            raise ValueError(msg)
        return ddl

    @field_validator("path")
    @classmethod
    def _local(cls, path: str) -> str:
        if "://" in path or not PurePosixPath(path).is_absolute():
            msg = f"'{path}' must be an absolute path of a local directory"
            raise ValueError(msg)
        if ".." in PurePosixPath(path).parts or "\0" in path:
            msg = f"'{path}' leaves its root; write it without '..'"
            raise ValueError(msg)
        return path

    @field_validator("options")
    @classmethod
    def _not_the_engines(cls, options: dict[str, Any]) -> dict[str, Any]:
        taken = [name for name in options if name.lower() in ENGINE_OPTIONS]
        if taken:
            msg = f"option '{taken[0]}' is set by the engine; remove it"
            raise ValueError(msg)
        doubled = _doubled(options)
        if doubled:
            msg = f"option '{doubled}' is given twice; Spark's options know no case"
            raise ValueError(msg)
        return options

    @property
    def columns(self) -> tuple[str, ...]:
        return column_names(self.schema_)

    @property
    def reader_options(self) -> dict[str, str]:
        """Every option for Spark's reader, as text: our defaults, then the spec's own."""
        given = {name: _as_text(value) for name, value in self.options.items()}
        overridden = {name.lower() for name in given}
        defaults = DEFAULT_OPTIONS[self.format].items()
        return {**{k: v for k, v in defaults if k.lower() not in overridden}, **given}

    def reader_option(self, name: str) -> str | None:
        """One of the reader's options, whatever its case; None where it is not given."""
        options = {key.lower(): value for key, value in self.reader_options.items()}
        return options.get(name.lower())


class EventTime(_Model):
    """The column that says when a row happened; a row without it is a rejected row."""

    column: str
    watermark: Duration | None = None


class Output(_Model):
    """What the file sink writes."""

    mode: Literal["append"] = "append"
    format: Literal["parquet"] = "parquet"
    partition_by: dict[Column, Annotated[str, StringConstraints(min_length=1)]] = {}
    maxRecordsPerFile: Annotated[int, Field(ge=0)] = 0

    @property
    def sink_partitions(self) -> tuple[str, ...]:
        """The columns that the sink's directories are named after.

        A rejected row lies in the null partition, into which no good row ever falls; a sink without
        partitions gets one for the purpose. (A further level over the partitions would do, but
        Polars then finds a column in the path that the table does not have.)
        """
        return tuple(self.partition_by) or (REJECTED,)


class Rejected(_Model):
    """The share of rejected rows (0 to 1) above which an increment is held."""

    hold_above: Annotated[float, Field(ge=0, le=1)] = 0.05


class Gate(_Model):
    """How an increment is judged."""

    suite: Name | None = None
    rejected: Rejected = Rejected()
    in_process_max: Size = 256 * 2**20
    samples: Annotated[int, Field(ge=0, le=1000)] = 20


class DeltaTarget(_Model):
    """The published Delta table; its head says what consumers see."""

    kind: Literal["delta"] = "delta"


class Notify(_Model):
    """An Airflow notifier and its arguments; `{message}` in a text argument is replaced."""

    notifier: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*\.[A-Za-z_]\w*$")]
    args: dict[str, Any] = {}

    @field_validator("args")
    @classmethod
    def _names_no_secret(cls, args: dict[str, Any]) -> dict[str, Any]:
        secret = next((name for name in args if SECRET.search(name)), None)
        if secret:
            msg = f"'{secret}' would put a secret into a file; name an Airflow connection instead"
            raise ValueError(msg)
        return args


class Spark(_Model):
    """Where the job runs, and Spark configuration beyond the engine's own."""

    conn_id: PlainName = "tidemill_spark"
    conf: dict[str, str | bool | int] = {}


class Airflow(_Model):
    """What the DAG says about itself to Airflow."""

    owner: PlainName = "tidemill"
    tags: tuple[PlainName, ...] = ()
    start_date: date = date(2024, 1, 1)
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    retry_delay: Duration = timedelta(seconds=30)
    timeout: Duration = timedelta(hours=2)
    pool: PlainName = "tidemill"


class Spec(_Model):
    """One pipeline. Its name is the stem of the file the spec was read from."""

    description: str = ""
    env: dict[Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")], str | None] = {}
    schedule: Annotated[str, StringConstraints(min_length=1)] | None = None
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    expect: Expect | None = None
    sources: Annotated[dict[Name, FileSource], Field(min_length=1, max_length=1)]
    trigger: Trigger = Trigger.AVAILABLE_NOW
    event_time: EventTime
    row_rules: dict[Name, Annotated[str, StringConstraints(min_length=1)]] = {}
    transform: Name | None = None
    output: Output = Output()
    gate: Gate = Gate()
    publish: Annotated[tuple[DeltaTarget, ...], Field(min_length=1, max_length=1)] = (
        DeltaTarget(),
    )
    notify: Notify | None = None
    spark: Spark = Spark()
    airflow: Airflow = Airflow()

    @property
    def source(self) -> FileSource:
        return next(iter(self.sources.values()))

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        if self.event_time.column not in self.source.columns:
            msg = (
                f"event_time.column '{self.event_time.column}' is not in the source's schema; "
                f"it has {', '.join(self.source.columns)}"
            )
            raise ValueError(msg)
        partitions = tuple(self.output.partition_by)
        clash = _doubled((*self.source.columns, *partitions))
        if clash:
            msg = f"output.partition_by '{clash}' is a column already; give it another name"
            raise ValueError(msg)
        if self.trigger is Trigger.ONCE and "maxFilesPerTrigger" in self.source.model_fields_set:
            msg = "trigger 'once' ignores maxFilesPerTrigger; remove it or use available_now"
            raise ValueError(msg)
        return self


def _doubled(names: Iterable[str]) -> str | None:
    """The first name that is there twice; neither Spark nor Delta tells names apart by case."""
    seen = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None


def _as_text(value: str | bool | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
