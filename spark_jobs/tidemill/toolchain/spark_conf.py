"""The Spark settings that the promise rests on, each with its reason.

Both the Airflow operator (on the command line of spark-submit) and the session use them; a spec's
`spark.conf` may add to them and may not change them, but for `DEFAULTS`.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tidemill.contract.file_mode import HADOOP_UMASK
from tidemill.spec.formats.table import jars_of_format
from tidemill.spec.sinks import KafkaSink
from tidemill.spec.spec import Spec
from tidemill.toolchain.class_archive import JAVA_VARIABLES
from tidemill.toolchain.jars import OBJECT_STORES, jars_of
from tidemill.toolchain.object_store_conf import store_conf

JARS = "spark.jars"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
STATE_ENCODING = "spark.sql.streaming.stateStore.encodingFormat"
# Each pipeline of a group has a pool of its own.
FAIR = {"spark.scheduler.mode": "FAIR"}
# Python's times without a zone are of the machine's zone, and Spark gives a Python function such
# ones: on a machine in another zone it would give other rows. UTC has no hour twice.
PYTHON_ZONE = "UTC"
# Between two batches executors wait: dynamic allocation would end them, and the next batch would
# load again the state that they held.
EXECUTORS = {"spark.executorEnv.TZ": PYTHON_ZONE, "spark.dynamicAllocation.enabled": "false"}
STATE = "org.apache.spark.sql.execution.streaming.state"
RETAINED_BATCHES = 1000

# Small increments end before the optimising compiler pays: C1 alone halves the CPU-seconds. With C1
# alone Java also cuts its cache of compiled code to 48 MiB, which 24 pipelines of a group fill.
SMALL_BACKLOG_BYTES = 100 * 2**20
# Java begins with 21 MiB for what it knows of classes, and collects all it has when they are full.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m"
# Java's default collector works beside the program, for short pauses: an ingest of 1 GB of CSV has
# a sixth more CPU-seconds by it. It is switched off by name, as the defaults of a Spark may ask
# for it, and Java does not start with two. A small run has nothing to collect at once, and with the
# simplest collector it takes a twentieth less, and a fifth less memory.
THROUGHPUT = "-XX:-UseG1GC -XX:+UseParallelGC"
SIMPLE = "-XX:-UseG1GC -XX:+UseSerialGC"
_COLLECTOR = re.compile(r"-XX:[+]Use\w*GC\b")

# A spec may change these. A batch run needs no UI, which costs a port and start-up time.
DEFAULTS = {"spark.ui.enabled": "false"}


def engine_conf(spec: Spec, cores: int | None = None) -> Mapping[str, str]:
    """Settings that no spec may change.

    Args:
        spec: For its time zone, its watermarks' policy and its state.
        cores: Shuffle partitions of a new generation where the spec names none; the machine's cores
            where not given.
    """
    partitions = spec.state.shuffle_partitions or cores or os.cpu_count() or 1
    return {
        # Dates are cut in the spec's zone, whatever machine the driver runs on.
        "spark.sql.session.timeZone": spec.timezone,
        **EXECUTORS,
        # INT96, Spark's default, reads as nanoseconds: Delta readers then refuse the table.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # A wrong cast or an overflow is an error, never a silent null.
        "spark.sql.ansi.enabled": "true",
        # The older parser gives a time without a date the date of the day on which it is read.
        "spark.sql.legacy.timeParserPolicy": "CORRECTED",
        # 200 partitions cost ten seconds and 400 files a run; a generation keeps its first number.
        "spark.sql.shuffle.partitions": str(partitions),
        # State beyond the JVM's heap, of which each batch uploads what changed, not all of it.
        "spark.sql.streaming.stateStore.providerClass": f"{STATE}.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # A row of the state that is not what was put is an error, never a count. A generation keeps
        # what it was born with.
        "spark.sql.streaming.stateStore.rowChecksum.enabled": "true",
        "spark.sql.streaming.multipleWatermarkPolicy": spec.multipleWatermarkPolicy,
        # Spark's logs must outlive whatever one run may commit before our ledger has it.
        "spark.sql.streaming.minBatchesToRetain": str(RETAINED_BATCHES),
        # Sources go by name in the checkpoint, so that one can be added or dropped.
        "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
        "spark.sql.streaming.offsetLog.formatVersion": "2",
        # It looks for a number that logs of Spark 4.2.0 do not hold: a query of that age that was
        # killed within a batch would never start again (None.get, SPARK-59662).
        "spark.sql.streaming.checkUnfinishedRepartitionOnRestart": "false",
        # Streams that keep state, in a union under one that keeps state too: Spark would let their
        # state stores share a task, and fail ("Can only upgrade readStore to writeStore").
        "spark.sql.unionOutputPartitioning": "false",
        # A file that is cut short or gone is an error, not an end of its rows.
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.files.ignoreMissingFiles": "false",
        # Two runs of one query in one session would stop each other without a word.
        "spark.sql.streaming.stopActiveRunOnRestart": "false",
        # A plan as text, in an event log or an error, shows a source's options. Spark hides those
        # with "password" in key or value by itself; a private key would be there to read.
        "spark.sql.redaction.options.regex": "(?i)url|sasl|ssl|jaas",
        # A progress bar is noise in a task log; a line per batch is printed instead.
        "spark.ui.showConsoleProgress": "false",
    }


def session_conf(
    spec: Spec, environ: Mapping[str, str] = os.environ, root: Path | None = None
) -> Mapping[str, str]:
    """Every setting of a session, as text: our defaults, the spec's own, and the engine's.

    What a session creates is kept from users outside the group, unless the spec says otherwise.

    Args:
        environ: For `TIDEMILL_JARS`, which is looked at where the pipeline needs jars, and for the
            connection of a root in an object store.
        root: The root of all pipelines' data; None for what touches none.

    Raises:
        JarsMissing: it needs some that were not fetched yet.
    """
    own = {name: _as_text(value) for name, value in spec.spark.conf.items()}
    store = store_conf(root, environ) if root else {}
    sets = (*jar_sets(spec), *([OBJECT_STORES] if store else []))
    if sets:
        ours = (str(path) for path in jars_of(*sets, environ=environ))
        own[JARS] = ",".join(filter(None, (own.get(JARS), *ours)))
    return {**HADOOP_UMASK, **DEFAULTS, **own, **engine_conf(spec), **store}


def jar_sets(spec: Spec) -> tuple[str, ...]:
    """The sets of jars that a pipeline needs beside Spark's own."""
    inputs = (*spec.sources.values(), *spec.statics.values())
    needed = {name for one in inputs for name in one.jar_sets}
    needed |= jars_of_format(spec.output.format)
    needed |= {"kafka"} if isinstance(spec.sink, KafkaSink) else set()
    return tuple(sorted(needed, reverse=True))


def driver_java_options(
    backlog_bytes: int | None,
    own: str = "",
    environ: Mapping[str, str] = os.environ,
    *,
    for_days: bool = False,
) -> str:
    """JVM options for the driver.

    Args:
        backlog_bytes: What waits to be read; None if unknown.
        own: Those of the spec, which follow ours. Java does not start with two collectors, so one
            that is chosen here or in the environment is the only one.
        environ: That of the driver.
        for_days: Whether it runs until it is stopped: then a short pause is worth more.
    """
    small = is_small(backlog_bytes)
    given = (own, *(environ.get(name, "") for name in JAVA_VARIABLES))
    chosen = for_days or any(map(_COLLECTOR.search, given))
    collector = "" if chosen else SIMPLE if small else THROUGHPUT
    return " ".join(part for part in (QUICK_START if small else "", collector, own) if part)


def is_small(backlog_bytes: int | None) -> bool:
    """Whether what waits to be read costs less than the start of a process (None: unknown)."""
    return backlog_bytes is not None and backlog_bytes < SMALL_BACKLOG_BYTES


def _as_text(value: str | bool | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
