"""A person's rows are erased below a root in a bucket, with Spark's own files and state there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.test_erase import assert_erased_rows_stay_away
from tests.e2e.test_erase_state import PERSON, assert_totals_lose_the_person, totals_of
from tests.servers.s3 import S3
from tests.support.bucket_pipeline import in_bucket
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.contract.objects.object_path import ObjectPath


def test_erased_rows_stay_away(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_erased_rows_stay_away(in_bucket(OrdersPipeline(tmp_path), s3, spark, monkeypatch))


def test_a_pipeline_with_state_reads_its_input_again_without_the_person(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = in_bucket(totals_of(tmp_path), s3, spark, monkeypatch)
    assert_totals_lose_the_person(flow)
    assert isinstance(flow.root, ObjectPath)
    # As the server has them on its disk, state and logs of Spark too.
    stored = [path for path in (s3.buckets / flow.root.bucket).rglob("*") if path.is_file()]
    assert stored
    assert [path for path in stored if PERSON.encode() in path.read_bytes()] == []
