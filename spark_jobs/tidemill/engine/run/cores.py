"""Cores for a continuous or real-time query: one for each partition of its source, all at once."""

from pyspark.sql import SparkSession

from tidemill.contract.errors import UsageError
from tidemill.sources.kinds import open_sources
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.stream_trigger import StreamTrigger


class TooFewCores(UsageError):
    """Some partitions would never be read; carries `cores`, `partitions` and `source`."""


def refuse_few_cores(session: SparkSession, pipeline: Pipeline, trigger: StreamTrigger) -> None:
    """Hold the session's cores against the partitions of a source whose tasks do not end.

    With fewer Spark starts what it can and waits, without an error (guide, "Continuous Processing",
    "Caveats"; a continuous query on 4.2 then cannot be stopped either).

    Args:
        trigger: Continuous or real time.

    Raises:
        TooFewCores: there are more partitions than cores.
        TransientError: the broker cannot be reached.
    """
    cores = session.sparkContext.defaultParallelism
    for source in open_sources(pipeline):
        name, partitions = source.name, source.partitions()
        if partitions is not None and partitions > cores:
            raise TooFewCores(
                f"sources.{name} has {partitions} partitions and Spark {cores} cores: the trigger "
                f"{trigger} needs a core for each partition, at all times.",
                remedy="Give Spark more cores (such as TIDEMILL_MASTER=local[8]), or take "
                "--trigger processing-time=1s.",
                source=name,
                cores=cores,
                partitions=partitions,
            )
