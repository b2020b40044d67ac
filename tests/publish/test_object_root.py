"""A past whose root is in an object store is looked at, published and read back."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.servers.s3 import LOGIN, PASSWORD, S3
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.pages import BLOCKS
from tests.support.s3_root import new_root
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.orphans import Orphans, read_orphans
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.root_identity import initialise, register


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
