"""The Spark session of a step, with the settings that the promise rests on."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from spark_jobs.contract.java import java_home
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.session_conf import driver_java_options, session_conf


def open_session(pipeline: Pipeline, step: str, backlog_bytes: int | None = None) -> SparkSession:
    """The session; under spark-submit master and JVM options are the submitter's.

    Args:
        pipeline: For its name, time zone and `spark.conf`.
        step: Shown in the application's name.
        backlog_bytes: What waits to be read, to choose the JVM's compiler; None if unknown.
    """
    # Python workers start whatever `python3` the PATH holds unless they are told.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Under LC_ALL=C the JVM cannot write file names beyond ASCII, and partition values are names.
    os.environ["LC_ALL"] = "C.UTF-8"
    builder = SparkSession.builder.appName(f"tidemill {step} {pipeline.name}")
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ["JAVA_HOME"] = str(java_home(os.environ))
        builder = builder.master(os.environ.get("TIDEMILL_MASTER", "local[*]"))
        options = driver_java_options(backlog_bytes)
        if options:
            builder = builder.config("spark.driver.extraJavaOptions", options)
    for key, value in session_conf(pipeline.spec).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    return session
