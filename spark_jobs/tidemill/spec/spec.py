"""The spec: what to run, as one frozen model that Airflow and Spark both read.

Fields that Spark has a name for carry Spark's own name (`maxFilesPerTrigger`). Event time,
partition expressions and row rules live here and not in the transform, so that a change of code can
never move a row to another interval.
"""

from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from tidemill.contract.syntax.quantities import Duration, Size
from tidemill.spec.airflow_settings import Airflow
from tidemill.spec.assets import Assets
from tidemill.spec.cross_checks import refuse_disagreement
from tidemill.spec.decisions import Decisions
from tidemill.spec.event_time import EventTime
from tidemill.spec.model import Disagreement, Expression, Model, Name, PlainName
from tidemill.spec.output import Output
from tidemill.spec.secret_setting import SECRET, is_secret
from tidemill.spec.settings import Backfill, Budget, Listener, Metrics, State, Trigger
from tidemill.spec.sinks import Sink
from tidemill.spec.sources.base import BaseSource
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.sources.python import PythonSource
from tidemill.spec.sources.table import TableSource
from tidemill.spec.sources.testing import RateMicroBatchSource, RateSource, SocketSource
from tidemill.spec.static_inputs import Static
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


class Expect(Model):
    """The expected interval of a feed; an overdue feed fails the run."""

    every: Duration
    grace: Duration = timedelta(0)


class Rejected(Model):
    """The share of rejected rows (0 to 1) above which an increment is held."""

    hold_above: Annotated[float, Field(ge=0, le=1)] = 0.05


class Gate(Model):
    """Settings of the gate.

    Attributes:
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


class Notify(Model):
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


class Spark(Model):
    """The Spark connection, and Spark configuration beyond the engine's own."""

    conn_id: PlainName = "tidemill_spark"
    conf: dict[str, str | bool | int] = {}

    @model_validator(mode="after")
    def _names_no_secret(self) -> Self:
        secret = next((name for name, value in self.conf.items() if is_secret(name, value)), None)
        if secret is not None:
            msg = (
                f"'{secret}' would put a secret into a file, onto a command line and into logs; "
                "name an Airflow connection (conn_id of a source or target) where that will do, "
                "else put it into spark-defaults.conf, which only Airflow's user can read"
            )
            raise Disagreement(msg, "conf", secret)
        return self


class Spec(Model):
    """One pipeline. Its name is the stem of the file the spec was read from.

    Attributes:
        transform: The stem of the transform's file, by default the pipeline's name; several
            pipelines may name one. `none` publishes the rows of the one source as they come.
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
    group: Name | None = None

    @property
    def published(self) -> bool:
        """Whether a gate stands between the query and its readers; not with a sink of Spark's."""
        return self.sink is None

    def sources_of(self, kind: type[SourceOfKind]) -> dict[str, SourceOfKind]:
        """The sources of one kind, by name."""
        return {name: source for name, source in self.sources.items() if isinstance(source, kind)}

    @property
    def file_inputs(self) -> dict[str, FileSource]:
        """Field of the spec -> what is read of files there: sources, then static inputs."""
        sources = {f"sources.{n}": one for n, one in self.sources_of(FileSource).items()}
        statics = {f"statics.{n}": one.as_source for n, one in self.statics.items()}
        return sources | {field: one for field, one in statics.items() if one is not None}

    def event_time_of(self, source: str) -> EventTime | None:
        """The event time of one source's rows."""
        return self.sources[source].event_time or self.event_time

    def row_rules_of(self, source: str) -> dict[str, str]:
        """The rules that one source's rows must keep."""
        return {**self.row_rules, **self.sources[source].row_rules}

    @property
    def connections(self) -> tuple[str, ...]:
        """The Airflow connections of inputs, targets and sink, each once."""
        inputs = (*self.sources.values(), *self.statics.values())
        users = (*inputs, *self.publish, *([self.sink] if self.sink else []))
        named = (getattr(user, "conn_id", None) for user in users)
        return tuple(dict.fromkeys(conn_id for conn_id in named if conn_id is not None))

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        refuse_disagreement(self)
        return self
