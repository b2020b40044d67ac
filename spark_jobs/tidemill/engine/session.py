"""The Spark session of a step, with the settings that the promise rests on."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial

from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tidemill.contract.connections.airflow import connection, variable
from tidemill.contract.connections.spark import (
    AUTHENTICATED,
    SECRET,
    STANDALONE,
    driver_settings,
    secrets_of,
)
from tidemill.contract.connections.spark_masters import verify_masters
from tidemill.contract.counted import counted
from tidemill.contract.file_mode import HADOOP_UMASK
from tidemill.contract.report import SparkApplication
from tidemill.engine.launch_jvm import launch_jvm, own_signals, say_errors_once
from tidemill.engine.spark_internals.active_session import activate, has_jvm
from tidemill.engine.spark_internals.class_lookups import keep_classes
from tidemill.engine.spark_internals.executors import lost_executors
from tidemill.engine.spark_internals.local_files import set_modes_in_process
from tidemill.engine.spark_internals.logging import hush
from tidemill.engine.spark_internals.masters import jvm_of_process, verify_let_in
from tidemill.engine.spark_internals.released_objects import release_together
from tidemill.spec.pipeline import Pipeline
from tidemill.toolchain import jvm, spark_application
from tidemill.toolchain.class_archive import submit_options
from tidemill.toolchain.java import java_home
from tidemill.toolchain.loopback import is_local, loopback_variables
from tidemill.toolchain.object_store_conf import store_conf, store_secrets
from tidemill.toolchain.spark_conf import (
    EXECUTORS,
    FAIR,
    JARS,
    JAVA_OPTIONS,
    PYTHON_ZONE,
    driver_java_options,
    session_conf,
)

POOL = "spark.scheduler.pool"
# At a start Spark looks once more at the file of the last batch. Where that was put away since, it
# warns with a stack trace and goes on, as it should.
NOISY = "org.apache.spark.sql.execution.streaming.sinks.FileStreamSink"


def open_group_session(pipelines: Sequence[Pipeline], backlog_bytes: int | None) -> SparkSession:
    """The session that those of several pipelines are made from, with the jars of all of them.

    Args:
        pipelines: The pipelines that share one Spark application, each in its own pool.
        backlog_bytes: What waits to be read by all of them; None if unknown.
    """
    name = f"tidemill ingest of {counted(len(pipelines), 'pipeline')}"
    first = pipelines[0]
    return _open(name, first, _shared_conf(pipelines), backlog_bytes, first.spec.spark.conn_id)


def open_planning_session(pipelines: Sequence[Pipeline]) -> SparkSession:
    """The session on this machine that plans of several pipelines are made in, one by one.

    Args:
        pipelines: The pipelines, whose jars it has.
    """
    return _open(
        f"tidemill check of {counted(len(pipelines), 'pipeline')}",
        pipelines[0],
        _shared_conf(pipelines),
        None,
        None,
    )


def session_within(shared: SparkSession, pipeline: Pipeline) -> SparkSession:
    """A session of a pipeline's own in an application that others use too, for this thread.

    Args:
        pipeline: The pipeline with the settings; those that cannot change any more stay.
    """
    session = shared.newSession()
    there = _settings(shared.sparkContext)
    for key, value in _conf(pipeline).items():
        if there.get(key) == value:
            continue
        # `isModifiable` denies all keys that are not registered, such as those of RocksDB.
        with suppress(AnalysisException):
            session.conf.set(key, value)
    activate(session)
    session.sparkContext.setLocalProperty(POOL, pipeline.name)
    return session


def open_session(
    pipeline: Pipeline, step: str, backlog_bytes: int | None = None, *, for_days: bool = False
) -> SparkSession:
    """The session; under spark-submit master and JVM options are the submitter's.

    Without it the master is that of `TIDEMILL_MASTER`, else of the Spark connection that the spec
    names where the environment has it, else this machine.

    Args:
        pipeline: For its name, time zone and `spark.conf`.
        step: Shown in the application's name.
        backlog_bytes: What waits to be read, to choose the JVM's options; None if unknown.
        for_days: Whether it runs until it is stopped.
    """
    name, conf = f"tidemill {step} {pipeline.name}", _conf(pipeline)
    conn_id = pipeline.spec.spark.conn_id
    return _open(name, pipeline, conf, backlog_bytes, conn_id, for_days=for_days)


@lru_cache(maxsize=1)
def _settings(application: SparkContext) -> dict[str, str]:
    """What every new session of an application begins with."""
    return dict(application.getConf().getAll())


def _conf(pipeline: Pipeline) -> Mapping[str, str]:
    return session_conf(pipeline.spec, root=pipeline.layout.root)


def _shared_conf(pipelines: Sequence[Pipeline]) -> dict[str, str]:
    jars = (_conf(pipeline).get(JARS, "") for pipeline in pipelines)
    each = dict.fromkeys(jar for given in jars for jar in given.split(",") if jar)
    store = store_conf(pipelines[0].layout.root)
    own = {JARS: ",".join(each)} if each else {}
    return {**HADOOP_UMASK, **FAIR, **EXECUTORS, **store, **own}


def _open(
    name: str,
    pipeline: Pipeline,
    conf: Mapping[str, str],
    backlog_bytes: int | None,
    conn_id: str | None,
    *,
    for_days: bool = False,
) -> SparkSession:
    # Python workers start whatever `python3` the PATH holds unless they are told.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Under LC_ALL=C the JVM cannot write file names beyond ASCII, and partition values are names.
    os.environ["LC_ALL"] = "C.UTF-8"
    # A transform's own times, as in `F.lit(datetime(2026, 3, 1))`.
    os.environ["TZ"] = PYTHON_ZONE
    time.tzset()
    say_errors_once()
    given = {"spark.app.name": name, **conf}
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        java = str(java_home(os.environ))
        os.environ["JAVA_HOME"] = java
        master, settings, secrets = _master(conn_id)
        if conn_id is not None:
            verify_masters(master, conn_id)
        os.environ.update(loopback_variables(master, os.environ))
        given = {"spark.master": master, **settings, **given}
        options = given.get(JAVA_OPTIONS, "")
        options = driver_java_options(backlog_bytes, options, for_days=for_days)
        given |= {JAVA_OPTIONS: options} if options else {}
        os.environ.update(submit_options(os.environ, java, driver_options=options))
    else:
        secrets = secrets_of(os.environ)
    secrets = {**secrets, **store_secrets(pipeline.layout.root)}
    if SECRET in secrets:
        # A spec does not switch it off: other pipelines' passwords would be there to read as well.
        given |= AUTHENTICATED
    with own_signals():
        session = _session(given, secrets, conn_id)
    keep_classes(session)
    release_together(session)
    context = session.sparkContext
    context.setLogLevel("WARN")
    logs_events = session.conf.get("spark.eventLog.enabled", "false") == "true"
    application = SparkApplication(id=context.applicationId, logs_events=logs_events)
    lost = None
    if is_local(str(context.master)):
        set_modes_in_process(session)
    else:
        lost = partial(lost_executors, session)
    spark_application.remember(application, lost)
    hush(session, NOISY)
    return session


def _master(conn_id: str | None) -> tuple[str, dict[str, str], dict[str, str]]:
    """The master of a driver that no spark-submit starts, and what it asks for.

    Args:
        conn_id: The Spark connection; None for this machine, whatever is connected.
    """
    if conn_id is None:
        return "local[*]", {}, {}
    own = os.environ.get("TIDEMILL_MASTER")
    if own or not os.environ.get(variable(conn_id)):
        return own or "local[*]", {}, {}
    return driver_settings(connection(conn_id), conn_id)


def _session(
    conf: Mapping[str, str], secrets: Mapping[str, str], conn_id: str | None
) -> SparkSession:
    if not has_jvm():
        _reach_jvm(conf, secrets, conn_id)
    builder = SparkSession.builder
    for key, value in {**conf, **secrets}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _reach_jvm(conf: Mapping[str, str], secrets: Mapping[str, str], conn_id: str | None) -> None:
    """Prove that the JVM of spark-submit lets us in, or start one where PySpark's own start lacks
    something.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        if conn_id is not None:
            verify_let_in(jvm_of_process(), secrets, conn_id)
        return
    log = jvm.log_file()
    is_standalone = conf.get("spark.master", "").startswith(STANDALONE)
    if secrets or log is not None or is_standalone:
        launch_jvm(conf, secrets, log, conn_id)
