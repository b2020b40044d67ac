"""The cores that a query has: of a cluster's executors, and enough for partitions read at once."""

from time import monotonic, sleep

from pyspark.sql import SparkSession

from tidemill.contract.errors import UsageError
from tidemill.engine.spark_internals.executors import executor_cores, first_executor_seconds
from tidemill.sources.kinds import open_sources
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.stream_trigger import StreamTrigger

# A standalone cluster's limit to the cores of all executors together.
MOST_CORES = "spark.cores.max"
CORES_EACH, EXECUTORS = "spark.executor.cores", "spark.executor.instances"
# Seconds: the longest that executors are waited for, and the least for a further one. All of them
# start at once, on a busy machine slowly: another one may take twice as long as the first.
PATIENCE, SETTLED = 30.0, 2.0
STEP = 0.2


class TooFewCores(UsageError):
    """Some partitions would never be read; carries `cores`, `partitions` and `source`."""


def cluster_cores(session: SparkSession) -> int:
    """The cores of an application's executors: as its settings say, else as they come.

    Returns:
        0 where no executor came in half a minute.
    """
    conf = session.sparkContext.getConf()
    each = int(conf.get(CORES_EACH) or 1)
    if most := conf.get(MOST_CORES):
        # What is left over is too little for another executor.
        return int(most) // each * each
    if conf.get(CORES_EACH) and (executors := conf.get(EXECUTORS)):
        return each * int(executors)
    began = since = monotonic()
    cores = executor_cores(session)
    while monotonic() - began < PATIENCE:
        if cores and monotonic() - since > max(SETTLED, first_executor_seconds(session)):
            break
        sleep(STEP)
        if (found := executor_cores(session)) != cores:
            cores, since = found, monotonic()
    return cores


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
