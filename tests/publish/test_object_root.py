"""A past whose root is in an object store is looked at, published and read back."""

from __future__ import annotations

from datetime import date
from itertools import takewhile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.servers.flaky_http import Fault, FlakyHttp
from tests.servers.s3 import LOGIN, PASSWORD, S3
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.pages import BLOCKS
from tests.support.s3_root import new_root
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.objects.root_connection import storage_options
from tidemill.contract.report import Outcome
from tidemill.file_formats import delta_table
from tidemill.ledger.orphans import Orphans, read_orphans
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.documents import AlreadyWritten
from tidemill.storage.root_identity import initialise, register


def two_of_three(number: int) -> Fault | None:
    return None if number % 3 == 2 else "slow"


def test_a_past_in_a_bucket_is_published_once_and_read_back(
    s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    history = History(tmp_path, bucket=new_root(s3, monkeypatch))
    initialise(history.root, environ={})
    register(history.layout)
    history.increment(rows(1, 2), [reject("bad")])
    assert perform("doctor", doctor, history.run()).outcome is Outcome.DONE
    for _ in range(2):
        assert history.publish().outcome is Outcome.DONE
        assert (history.ids(), history.records()) == ([1, 2], ["bad"])
    history.increment(rows(3))
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1, 2, 3], ["bad"])
    assert len(history.log()) == len(history.journal.events()) == 2
    assert not (tmp_path / "root").exists()
    # A vacuum removes orphans, and must leave Spark's own logs.
    assert read_orphans(history.layout, FIRST_GENERATION) == Orphans(files=0, bytes=0)
    (history.sink / "part-00000-dead.snappy.parquet").write_bytes(b"PAR1")
    assert read_orphans(history.layout, FIRST_GENERATION) == Orphans(files=1, bytes=4)


def test_a_commit_whose_answer_comes_too_late_is_there_once(
    s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        delta_table, "storage_options", lambda: {**storage_options(), "timeout": "2s"}
    )
    proxy = FlakyHttp(s3.endpoint, two_of_three, methods=("PUT",), path="/_delta_log/")
    with proxy.up_apart():
        history = History(tmp_path, bucket=new_root(s3, monkeypatch, proxy.endpoint))
        failed = []
        for number in (1, 2):
            history.increment(rows(number), [reject("bad")])
            tries = (history.publish() for _ in range(5))
            failed += takewhile(lambda one: one.outcome is not Outcome.DONE, tries)
        assert (history.ids(), history.records()) == ([1, 2], ["bad", "bad"])
        assert len(history.log()) == 2
    assert {one.transient for one in failed} == {True}
    said = [one.error or {} for one in failed]
    assert {one["code"] for one in said} == {"ObjectStoreUnreachable"}
    assert {one["data"]["field"] for one in said} == {"TIDEMILL_ROOT"}
    assert PASSWORD not in str(failed)


def test_records_that_are_not_listed_yet_are_sealed_later_and_nothing_is_sealed_twice(
    s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with FlakyHttp(s3.endpoint, lambda _: None).up() as proxy:
        history = History(tmp_path, bucket=new_root(s3, monkeypatch, proxy.endpoint))
        for number in range(4):
            history.batch(rows(number))

        def sealed(*late: str) -> tuple[int, int]:
            proxy.unlisted = {*late}
            found = history.seal()
            proxy.unlisted = set()
            return found.first, found.last

        # Whoever does not see the last record ends before it; others are read by their names.
        records = "*/ledger/live-0001/00000"
        assert sealed(f"{records}1.json", f"{records}3.json") == (0, 2)
        with pytest.raises(AlreadyWritten):
            sealed("*/increments/*")
        proxy.unlisted = set()
        assert sealed() == (3, 3)
        assert history.increments.numbers() == [1, 2]


def test_consumers_read_the_tables_with_the_login_of_the_bucket(
    s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    history = History(tmp_path, bucket=new_root(s3, monkeypatch))
    history.increment([row(1), row(2, date(2024, 1, 2))], [reject("bad")])
    history.publish()
    made_again(history, [row(20, date(2024, 1, 2))], partitions=days("2024-01-02"))
    history.publish("again")
    block = BLOCKS["bucket-read"].replace("s3a://shop-tidemill/prod", str(history.bucket))
    for name, value in (("access_key_id", LOGIN), ("secret_access_key", PASSWORD)):
        assert f'"aws_{name}": "..."' in block
        block = block.replace(f'"aws_{name}": "..."', f'"aws_{name}": "{value}"')
    here = {"aws_endpoint": s3.endpoint, "aws_allow_http": "true"}
    names: dict[str, Any] = {}
    code = block.replace('"aws_region"', f'**{here}, "aws_region"')
    exec(compile(code, "bucket-read", "exec"), names)  # noqa: S102 - the page's own
    read = names["rows"].select("id", "day")
    assert sorted(read.rows()) == [(1, date(2024, 1, 1)), (20, date(2024, 1, 2))]
    assert sorted(names["table"].to_pandas()["id"]) == [1, 20]
    assert names["count"] == [(2,)]
    login, rejected = names["options"], f"{history.bucket}/orders/rejected"
    bad = pl.scan_delta(rejected, storage_options=login).select("record").collect()
    assert bad.rows() == [("bad",)]
