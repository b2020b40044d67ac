"""Files of checkpoints in an object store: put once, by one writer, and never taken for put."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.servers.flaky_http import Fault, FlakyHttp
from tests.servers.s3 import S3
from tests.support.bucket_pipeline import in_bucket
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.toolchain.object_store_conf import CHECKPOINT_FILES, store_conf

PUT = frozenset({"PUT"})


class Files:
    """The manager of a folder in a bucket, as Spark makes one for each of its logs.

    Args:
        mill: A pipeline in the bucket.
        endpoint: The address of a proxy before the server; the server's own where not given.
    """

    def __init__(self, mill: OrdersPipeline, spark: SparkSession, endpoint: str | None) -> None:
        self._jvm: Any = spark._jvm
        self.folder = mill.root / "offsets"
        hadoop = self._jvm.org.apache.hadoop.conf.Configuration(
            spark.sparkContext._jsc.hadoopConfiguration()
        )
        hadoop.set(CHECKPOINT_FILES, store_conf(mill.root)[CHECKPOINT_FILES])
        # As many tries as a real session has would last minutes.
        hadoop.set("fs.s3a.attempts.maximum", "2")
        hadoop.set("fs.s3a.retry.limit", "2")
        hadoop.set("fs.s3a.retry.interval", "10ms")
        hadoop.set("fs.s3a.connection.request.timeout", "2s")
        hadoop.set("fs.s3a.impl.disable.cache", "true")
        if endpoint is not None:
            hadoop.set(f"fs.s3a.bucket.{mill.root.bucket}.endpoint", endpoint)
        checkpointing = self._jvm.org.apache.spark.sql.execution.streaming.checkpointing
        self._manager = checkpointing.CheckpointFileManager.create(self._at(""), hadoop)

    def begin(self, name: str, content: str, *, overwrite: bool = False) -> Any:
        """A file that is there when it is closed."""
        stream = self._manager.createAtomic(self._at(name), overwrite)
        stream.write(bytearray(content.encode()))
        return stream

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}")


@pytest.fixture
def open_files(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Files]:
    def opened(endpoint: str | None = None) -> Files:
        return Files(in_bucket(OrdersPipeline(tmp_path), s3, spark, monkeypatch), spark, endpoint)

    return opened


def refusal(close: Callable[[], None]) -> str:
    with pytest.raises(Py4JJavaError) as error:
        close()
    return str(error.value.java_exception.getClass().getSimpleName())


def test_of_two_writers_who_both_saw_no_file_the_second_is_refused(
    open_files: Callable[..., Files],
) -> None:
    files = open_files()
    first, second = files.begin("0", "first"), files.begin("0", "second")
    first.close()
    assert refusal(second.close) == "FileAlreadyExistsException"
    assert files.read("0") == "first"


def test_what_may_be_overwritten_is_and_what_is_cancelled_never_was_there(
    open_files: Callable[..., Files],
) -> None:
    files = open_files()
    files.begin("1.zip", "first", overwrite=True).close()
    files.begin("1.zip", "second", overwrite=True).close()
    assert files.read("1.zip") == "second"
    cancelled = files.begin("2", "never")
    cancelled.cancel()
    cancelled.close()
    files.begin("2", "there").close()
    assert files.read("2") == "there"


@pytest.mark.parametrize("fault", ["lost", "slow"])
def test_a_put_whose_answer_was_lost_is_known_again_by_its_writer(
    open_files: Callable[..., Files], s3: S3, fault: Fault
) -> None:
    flaky = FlakyHttp(s3.endpoint, lambda n: None if n else fault, methods=PUT)
    with flaky.up() as proxy:
        files = open_files(proxy.endpoint)
        files.begin("0", "mine").close()
        # The second found that the first had succeeded.
        assert proxy.requests == 2
        assert files.read("0") == "mine"
        assert refusal(files.begin("0", "another").close) == "FileAlreadyExistsException"


def test_a_put_that_fails_is_an_error_and_no_file(open_files: Callable[..., Files], s3: S3) -> None:
    with FlakyHttp(s3.endpoint, lambda _: "broken", methods=PUT).up() as proxy:
        files = open_files(proxy.endpoint)
        assert refusal(files.begin("0", "never").close) == "AWSStatus500Exception"
        assert not (files.folder / "0").exists()
