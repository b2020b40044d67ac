"""Small settings of a pipeline, from its trigger to its notifier."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from tidemill.contract.syntax.quantities import Duration, Size
from tidemill.spec.model import Disagreement, Expression, Model, PlainName, Word
from tidemill.spec.secret_setting import SECRET, is_secret

# `module:Class` in the project's `spark_jobs/listeners/module.py`, or a class of an installed
# package, `package.module:Class`.
Listener = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
# Metric -> an aggregate over the transform's result, in SQL.
Metrics = dict[Word, Expression]
COMPACT_INTERVALS = tuple(
    f"spark.sql.streaming.{log}.log.compactInterval" for log in ("fileSink", "fileSource")
)
# Half of the batches that Spark keeps (`toolchain.spark_conf.RETAINED_BATCHES`).
LONGEST_COMPACT_INTERVAL = 500


class Trigger(StrEnum):
    """Spark's trigger: available input in bounded batches, or all in one."""

    AVAILABLE_NOW = "available_now"
    ONCE = "once"


class Budget(Model):
    """Limits of one run, which stops between two batches and reports what is left.

    Attributes:
        max_batches: Most batches of a run.
        max_bytes: The max bytes of input files; the run ends with the batch that reaches it.
        max_minutes: Since the query's start; the batch at work then is finished.
    """

    max_batches: Annotated[int, Field(gt=0)] | None = None
    max_bytes: Annotated[Size, Field(gt=0)] | None = None
    max_minutes: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            msg = f"give one of {', '.join(type(self).model_fields)}"
            raise ValueError(msg)
        return self


class State(Model):
    """The state of a query with windows, joins, deduplication or state of its own.

    Attributes:
        shuffle_partitions: Over which its keys are divided, for good: chosen when a generation is
            born, from the cores where not given.
    """

    shuffle_partitions: Annotated[int, Field(gt=0)] | None = None


class Backfill(Model):
    """Settings of backfills.

    Attributes:
        lateness: Every row arrives between its event time and that much later, so that a backfill
            need not read what arrived before or after. For a file, the time of modification
            counts, for a record the commit of the batch that read it. Without it all input is
            read.
    """

    lateness: Duration | None = None


class Expect(Model):
    """The expected interval of a feed; an overdue feed fails the run.

    Attributes:
        every: The longest time between two deliveries.
        grace: How much later a delivery may come before a run fails.
    """

    every: Duration
    grace: Duration = timedelta(0)


class Notify(Model):
    """An Airflow notifier and its arguments; `{message}` in a text argument is replaced.

    Attributes:
        notifier: The notifier's class, such as
            `airflow.providers.slack.notifications.slack.SlackNotifier`.
        args: Its arguments; they may hold no secrets.
    """

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
    """The Spark connection, and Spark configuration beyond the engine's own.

    Attributes:
        conn_id: The Airflow connection that names the master.
        conf: Spark's own settings, by their names; they may hold no secrets.
    """

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

    @model_validator(mode="after")
    def _keeps_neighbouring_compact_files(self) -> Self:
        """Refuse an interval at which a kill within Spark's deletions could damage its log.

        Spark tells the interval from the two newest compact files. It keeps too few batches for
        three of them at a longer interval: after a kill, two that are not neighbours could be left.
        """
        for name in COMPACT_INTERVALS:
            if not _is_short(self.conf.get(name)):
                msg = (
                    f"{name} must be a whole number from 1 to {LONGEST_COMPACT_INTERVAL}, half of "
                    "the batches that Spark keeps: at a longer interval a kill could leave a log "
                    "that lacks entries"
                )
                raise Disagreement(msg, "conf", name)
        return self


def _is_short(interval: str | bool | int | None) -> bool:
    if interval is None:
        return True
    text = str(interval).strip()
    return text.isdecimal() and 1 <= int(text) <= LONGEST_COMPACT_INTERVAL
