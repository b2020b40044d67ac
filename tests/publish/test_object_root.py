"""A past whose root is in an object store is looked at, published and read back."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable

from tests.servers.s3 import LOGIN, PASSWORD, REGION, S3
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, row, rows
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
    # As the guide of consumers has it, and not by code of ours.
    login = {
        "aws_endpoint": s3.endpoint,
        "aws_region": REGION,
        "aws_access_key_id": LOGIN,
        "aws_secret_access_key": PASSWORD,
        "aws_allow_http": "true",
    }
    good, rejected = f"{history.bucket}/orders/table", f"{history.bucket}/orders/rejected"
    in_polars = pl.scan_delta(good, storage_options=login).select("id", "day").collect()
    assert sorted(in_polars.rows()) == [(1, date(2024, 1, 1)), (20, date(2024, 1, 2))]
    table = DeltaTable(good, storage_options=login)
    assert sorted(table.to_pandas()["id"]) == [1, 20]
    in_duckdb = duckdb.from_arrow(table.to_pyarrow_dataset()).aggregate("count(*), sum(id)")
    assert in_duckdb.fetchall() == [(2, 21)]
    bad = pl.scan_delta(rejected, storage_options=login).select("record").collect()
    assert bad.rows() == [("bad",)]
