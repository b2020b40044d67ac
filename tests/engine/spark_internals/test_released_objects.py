"""Objects that Python no longer holds: the JVM forgets them, and those that it holds stay."""

from __future__ import annotations

import gc
import time
from typing import Any

from pyspark.sql import SparkSession

from tidemill.engine.spark_internals.released_objects import MANY, release_together

PATIENCE = 60


def test_the_jvm_forgets_what_python_let_go_and_nothing_else(spark: SparkSession) -> None:
    release_together(spark)
    release_together(spark)
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    java: Any = gateway.java_gateway_server.getGateway()

    def known(names: list[str]) -> int:
        return sum(java.getObject(name) is not None for name in names)

    kept = [jvm.java.lang.StringBuilder(str(number)) for number in range(MANY)]
    released = [jvm.java.lang.Object() for _ in range(5 * MANY)]
    names = [one._target_id for one in released]
    assert known(names) == len(names)
    del released
    gc.collect()
    until = time.monotonic() + PATIENCE
    # A number below that waits for more.
    while known(names) >= MANY and time.monotonic() < until:
        time.sleep(0.1)
    assert known(names) < MANY
    assert [one.toString() for one in kept] == [str(number) for number in range(MANY)]
