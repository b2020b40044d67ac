"""The spec: what to run, as one frozen model that Airflow and Spark both read.

Fields that Spark has a name for carry Spark's own name (`maxFilesPerTrigger`). Event time,
partition expressions and row rules live here and not in the transform, so that a change of code can
never move a row to another interval.
"""

from difflib import get_close_matches
from typing import Annotated, Literal, Self, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    model_validator,
)

from tidemill.contract.syntax.ddl import column_comments
from tidemill.contract.syntax.quantities import Size
from tidemill.spec.airflow_settings import Airflow
from tidemill.spec.assets import Assets
from tidemill.spec.cross_checks import refuse_disagreement
from tidemill.spec.decisions import Decisions
from tidemill.spec.event_time import EventTime
from tidemill.spec.model import Expression, Model, Name
from tidemill.spec.output import Output
from tidemill.spec.retention import Retention
from tidemill.spec.rollover import Rollover
from tidemill.spec.settings import (
    Backfill,
    Budget,
    Expect,
    Listener,
    Metrics,
    Notify,
    Spark,
    State,
    Trigger,
)
from tidemill.spec.sinks import Sink
from tidemill.spec.sources.base import BaseSource
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.sources.python import PythonSource
from tidemill.spec.sources.table import TableSource
from tidemill.spec.sources.testing import RateMicroBatchSource, RateSource, SocketSource
from tidemill.spec.static_inputs import BatchStatic, Static
from tidemill.spec.targets import DeltaTarget, Target
from tidemill.spec.wake import Wake

Source = Annotated[
    FileSource
    | KafkaSource
    | TableSource
    | PythonSource
    | RateSource
    | RateMicroBatchSource
    | SocketSource,
    Field(discriminator="kind"),
]
SourceOfKind = TypeVar("SourceOfKind", bound=BaseSource)


# What `transform` and `gate.suite` say where there is none.
NONE = "none"


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        near = get_close_matches(name, available_timezones(), n=1)
        meant = f"did you mean '{near[0]}'?" if near else "use a name such as Europe/London or UTC"
        msg = f"'{name}' is not a time zone; {meant}"
        raise ValueError(msg) from error
    return name


class Rejected(Model):
    """The share of rejected rows (0 to 1) above which an increment is held.

    Attributes:
        hold_above: The share, from 0 to 1.
    """

    hold_above: Annotated[float, Field(ge=0, le=1)] = 0.05


class Gate(Model):
    """Settings of the gate.

    Attributes:
        rejected: How many rows may be rejected.
        in_process_max: Up to this size, uncompressed, an increment is judged in the process of the
            step; a larger one by Spark.
        suite: The stem of the suite's file, by default the pipeline's name; several pipelines may
            name one. `none` judges by row rules and counts alone.
        empty: What is held for being empty: `hold_input` holds a delivery without rows, one whose
            rows were all rejected, and a backfill or rebuild that leaves no row; `hold_output` also
            holds an increment of which the transform leaves no row; `pass` holds none of them.
        samples: The most failing values that are shown per expectation; 0 shows none.
        mask: Columns of the table whose values are shown nowhere, samples or not.
    """

    suite: Name | None = None
    empty: Literal["hold_input", "hold_output", "pass"] = "hold_input"
    rejected: Rejected = Rejected()
    in_process_max: Size = 256 * 2**20
    samples: Annotated[int, Field(ge=0, le=1000)] = 20
    mask: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = ()


class Spec(Model):
    """One pipeline. Its name is the stem of the file the spec was read from.

    Attributes:
        description: What the pipeline is for; Airflow's UI shows it, and new Delta and Iceberg
            tables have it as their comment.
        env: The environment variables that the spec uses as `${NAME}`, each with its default.
        schedule: When the DAG runs: a cron expression or one of Airflow's presets, such as
            `@daily`.
        wake: Starts a run when input arrives, beside the schedule.
        timezone: The time zone of the session, in which Spark's functions read and write times.
        expect: How often input has to come; a run fails when it is overdue.
        sources: Name -> what the stream reads. A transform of several takes each by its name.
        statics: Name -> a table that the stream is joined with.
        trigger: Whether the input is read in several batches or in one.
        budget: The most that one run takes.
        event_time: When a row happened, for all sources.
        multipleWatermarkPolicy: Which watermark counts where several sources have one.
        state: How the state of windows, joins and deduplication is kept.
        row_rules: Rule -> a condition in Spark SQL on columns of a source. A row that breaks one is
            rejected.
        observe: Metric -> an aggregate in Spark SQL over the rows of each batch.
        listeners: Classes that hear of the query's progress, as `module:Class`.
        output: What is written, how, and in which partitions.
        gate: What holds an increment.
        backfill: How partitions are computed again.
        decisions: Who may decide about a held increment.
        publish: Where the rows go; the first target says what readers see.
        sink: One of Spark's own sinks, in place of gate and targets.
        notify: Who is told when an increment is held, input is overdue or a run fails.
        spark: The connection to Spark, and its settings.
        airflow: Settings of the DAG and its tasks.
        assets: Airflow assets beside the published table.
        transform: The stem of the transform's file, by default the pipeline's name; several
            pipelines may name one. `none` publishes the rows of the one source as they come.
        retention: How long `tidemill vacuum` leaves files that nothing needs.
        rollover: When the query goes on in a new generation, so that Spark's own logs stay short.
        deterministic: Whether the same input always gives the same rows. `false` lets the transform
            use the clock and chance, and a rebuild give new times: rows that are computed again
            may then be others than those that were published.
        group: Pipelines of the same group share a DAG, of that name, and one Spark application.
    """

    description: str = ""
    env: dict[Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")], str | None] = {}
    schedule: Annotated[str, StringConstraints(min_length=1)] | None = None
    wake: Wake | None = None
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    expect: Expect | None = None
    sources: Annotated[dict[Name, Source], Field(min_length=1)]
    statics: dict[Name, Static] = {}
    trigger: Trigger = Trigger.AVAILABLE_NOW
    budget: Budget | None = None
    event_time: EventTime | None = None
    multipleWatermarkPolicy: Literal["min", "max"] = "min"
    state: State = State()
    row_rules: dict[Name, Expression] = {}
    transform: Name | None = None
    observe: Metrics = {}
    listeners: tuple[Listener, ...] = ()
    output: Output = Output()
    gate: Gate = Gate()
    backfill: Backfill = Backfill()
    decisions: Decisions = Decisions()
    publish: Annotated[tuple[Target, ...], Field(min_length=1)] = (DeltaTarget(),)
    sink: Sink | None = None
    notify: Notify | None = None
    spark: Spark = Spark()
    airflow: Airflow = Airflow()
    assets: Assets = Assets()
    retention: Retention = Retention()
    rollover: Rollover = Rollover()
    deterministic: bool = True
    group: Name | None = None

    @property
    def published(self) -> bool:
        """Whether a gate stands between the query and its readers; not with a sink of Spark's."""
        return self.sink is None

    @property
    def given_up(self) -> str | None:
        """What is lost where the spec does not promise the same rows each time; None otherwise."""
        if self.deterministic or not self.published:
            return None
        return (
            "deterministic is false: a backfill, redo or rebuild may publish other rows than those "
            "that were published before."
        )

    @property
    def description_line(self) -> str:
        """The description as one line."""
        return " ".join(self.description.split())

    @property
    def descriptions(self) -> dict[str, str]:
        """Column -> what the schema of a source says of it; the first source counts."""
        schemas = [one.ddl for one in self.sources.values() if one.ddl is not None]
        return {n: text for ddl in reversed(schemas) for n, text in column_comments(ddl).items()}

    def sources_of(self, kind: type[SourceOfKind]) -> dict[str, SourceOfKind]:
        """The sources of one kind, by name."""
        return {name: source for name, source in self.sources.items() if isinstance(source, kind)}

    @property
    def file_inputs(self) -> dict[str, FileSource]:
        """Field of the spec -> what is read of files there: sources, then static inputs."""
        sources = {f"sources.{n}": one for n, one in self.sources_of(FileSource).items()}
        statics = {f"statics.{n}": one.as_source for n, one in self.statics.items()}
        return sources | {field: one for field, one in statics.items() if one is not None}

    @property
    def tables_read(self) -> dict[str, str]:
        """Field of the spec -> the pipeline whose table is read there, likewise."""
        sources = {f"sources.{n}": one.reads_pipeline for n, one in self.sources.items()}
        statics = {f"statics.{n}": one.reads_pipeline for n, one in self.statics.items()}
        return {field: read for field, read in (sources | statics).items() if read is not None}

    def event_time_of(self, source: str) -> EventTime | None:
        """The event time of one source's rows."""
        return self.sources[source].event_time or self.event_time

    def row_rules_of(self, source: str) -> dict[str, str]:
        """The rules that one source's rows must keep."""
        return {**self.row_rules, **self.sources[source].row_rules}

    @property
    def batch_statics(self) -> tuple[str, ...]:
        """The static inputs whose row is about the run that took a batch in."""
        return tuple(n for n, one in self.statics.items() if isinstance(one, BatchStatic))

    @property
    def connections(self) -> tuple[str, ...]:
        """The Airflow connections of inputs, targets, sink and schema registries, each once."""
        inputs = (*self.sources.values(), *self.statics.values())
        users = (*inputs, *self.publish, *([self.sink] if self.sink else []))
        named = [getattr(user, "conn_id", None) for user in users]
        named += [source.value.registry for source in self.sources_of(KafkaSource).values()]
        return tuple(dict.fromkeys(conn_id for conn_id in named if conn_id is not None))

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        refuse_disagreement(self)
        return self
