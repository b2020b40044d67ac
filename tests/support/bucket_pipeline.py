"""Puts the root of a pipeline into a bucket, where this process's Spark reaches it."""

from __future__ import annotations

from typing import TypeVar

import pytest
from pyspark.sql import SparkSession

from tests.servers.s3 import S3
from tests.support.pipelines.pipeline_folder import PipelineFolder
from tests.support.s3_root import new_root
from tidemill.storage.root_identity import initialise
from tidemill.toolchain.object_store_conf import store_conf, store_secrets

AnyPipeline = TypeVar("AnyPipeline", bound=PipelineFolder)
HADOOP = "spark.hadoop."


def in_bucket(
    pipeline: AnyPipeline,
    s3: S3,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    endpoint: str | None = None,
) -> AnyPipeline:
    """Let a pipeline have its root in a bucket that is empty.

    Args:
        endpoint: The address of a proxy before the server; the server's own where not given.
    """
    pipeline.url = new_root(s3, monkeypatch, endpoint)
    initialise(pipeline.root)
    # A session of its own has them from its start.
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in {**store_conf(pipeline.root), **store_secrets(pipeline.root)}.items():
        if name.startswith(HADOOP):
            hadoop.set(name.removeprefix(HADOOP), value)
    return pipeline
