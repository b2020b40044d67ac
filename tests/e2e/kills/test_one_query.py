"""Two queries on one checkpoint in one Spark application: the one that runs is not stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.engine.run.ingest import ingest
from tidemill.engine.run.options import RunOptions
from tidemill.engine.session import open_session, session_within
from tidemill.engine.spark_errors import QueryInterrupted
from tidemill.ledger.ledger import Ledger
from tidemill.spec.stream_trigger import StreamTrigger, TriggerKind
from tidemill.storage.lease import Lease, hold
from tidemill.storage.run_context import LeasedRun, RunContext


def wait_for(reached: Callable[[], bool]) -> None:
    while not reached():
        time.sleep(0.05)


def test_a_second_query_on_a_checkpoint_is_refused_and_the_first_goes_on(
    spark: SparkSession, mill: OrdersPipeline
) -> None:
    pipeline, over = mill.pipeline, Event()
    session = open_session(pipeline, "ingest")
    ledger = Ledger(mill.layout, FIRST_GENERATION)
    always = StreamTrigger(TriggerKind.PROCESSING_TIME, timedelta(seconds=1))

    def run_named(run_id: str, lease: Lease) -> LeasedRun:
        return RunContext(pipeline, run_id, lambda _: None).holding(lease)

    def second(lease: Lease) -> None:
        # Within one session the name of the query would forbid it already.
        other = session_within(session, pipeline)
        ingest(other, run_named("second", lease))

    until_over = RunOptions(always, stop=lambda: "over" if over.is_set() else None)
    # One lease for both: with two the second would not come as far as Spark.
    with (
        hold(mill.layout.lease, step="ingest", run_id="both") as lease,
        ThreadPoolExecutor(2) as pool,
    ):
        mill.deliver_days(range(1, 2))
        first = pool.submit(ingest, session, run_named("first", lease), until_over)
        try:
            wait_for(lambda: first.done() or ledger.latest() == 0)
            with pytest.raises(QueryInterrupted, match="same id is already active"):
                pool.submit(second, lease).result()
            mill.deliver_days(range(2, 3))
            wait_for(lambda: first.done() or ledger.latest() == 1)
        finally:
            over.set()
        assert first.result().stopped == "over"
    assert [batch.batch for batch in ledger.batches()] == [0, 1]
