"""Erasure with the root in a bucket: no object below it holds the person, and all else is there."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.servers.flaky_http import Fault, FlakyHttp
from tests.servers.s3 import S3
from tests.steps.upkeep.test_erase import (
    BOTH,
    PERSON,
    SECOND,
    erased,
    filled,
    interrupted,
    said,
    told,
)
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import reject, row
from tests.support.histories.rolled_history import RolledHistory
from tests.support.s3_root import CONN_ID, new_root
from tests.support.table_reader import tree
from tidemill.contract.connections.airflow import variable
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.report import Outcome
from tidemill.publish.target_heads import verify_tables
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.steps.upkeep.compact import CompactRequest
from tidemill.steps.upkeep.erase.plan import plan_erase
from tidemill.storage.erasures import ErasureUnfinished
from tidemill.storage.root_identity import initialise, register


@pytest.fixture
def past(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> RolledHistory:
    """The past of the disk's tests, with the person in three increments."""
    history = RolledHistory(tmp_path, more=BOTH, bucket=new_root(s3, monkeypatch))
    initialise(history.root, environ={})
    register(history.layout)
    return filled(history)


def holding(history: RolledHistory, s3: S3) -> list[str]:
    """The keys of the bucket whose objects hold the person, asked of the server itself."""
    assert isinstance(history.root, ObjectPath)
    found = []
    for key, content in s3.objects(history.root.bucket).items():
        shown = content.decode("utf-8", "replace")
        if key.endswith(".parquet"):
            shown += str(pq.read_table(io.BytesIO(content)).to_pylist())
        found += [key] if PERSON in shown else []
    return found


def test_no_object_holds_the_rows_and_all_others_are_as_they_were(
    past: RolledHistory, s3: S3
) -> None:
    past.release(3, reason=f"{PERSON} is known")
    past.publish("run-3")
    log = past.layout.run("run-3") / "spark.log"
    log.write_text(f"a row of {PERSON} was read\n")
    made_again(past, [row(21, SECOND), row(22, SECOND, text=PERSON)], [reject(said(PERSON))],
               partitions=days("2024-01-02"))  # fmt: skip
    past.publish("again")
    assert past.ids() == [1, 2, 4, 6, 7, 21, 22]
    CompactRequest().apply(past.run("compact"))
    assert len(holding(past, s3)) > 5
    erased(past)
    assert holding(past, s3) == []
    assert (past.ids(), past.records()) == ([1, 4, 6, 21], ["b", said("bob")])
    assert log.read_text() == "a row of [erased] was read\n"


def test_every_document_agrees_afterwards_and_the_pipeline_goes_on(
    past: RolledHistory, s3: S3
) -> None:
    erased(past)
    verify_tables(past.pipeline)
    assert perform("doctor", doctor, past.run("scheduled-next")).error is None
    past.release(3)
    past.increment([row(8)])
    assert past.publish().outcome is Outcome.DONE
    assert (past.ids(), holding(past, s3)) == ([1, 3, 4, 6, 8], [])
    assert erased(past).needed is False


def test_a_plan_changes_nothing_and_is_what_is_done(past: RolledHistory) -> None:
    before = tree(past.layout.home)
    plan = plan_erase(past.pipeline, told())
    assert tree(past.layout.home) == before
    assert plan.as_dict() == erased(past).as_dict()
    assert (plan.rows, plan.rejected, plan.versions) == (3, 1, False)


def test_one_that_was_killed_is_finished_by_the_next(
    past: RolledHistory, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("tidemill.steps.upkeep.erase.erase.replace_files", interrupted)
        with pytest.raises(KeyboardInterrupt):
            erased(past)
    # A reader beside it sees what was published before.
    assert past.ids() == [1, 2, 3, 4, 5]
    report = past.publish()
    assert report.error is not None
    assert report.error["code"] == ErasureUnfinished.__name__
    erased(past)
    assert (holding(past, s3), past.ids()) == ([], [1, 3, 4])


def test_what_killed_processes_left_goes(past: RolledHistory, s3: S3) -> None:
    scratch = past.layout.table / "_backfill-0badc0de" / "day=2024-01-01" / "part-1.parquet"
    scratch.write_bytes(past.files(0)[0].read_bytes())
    torn = past.sink / "day=2024-01-01" / "part-00009-dead.parquet"
    torn.write_bytes(b"PAR1")
    erased(past)
    assert (holding(past, s3), scratch.exists(), torn.exists()) == ([], False, False)


def versioned(_: int) -> Fault:
    return "versioned"


def test_a_bucket_that_keeps_older_versions_is_told(
    past: RolledHistory, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FlakyHttp(s3.endpoint, versioned, methods=("HEAD",)).up_apart() as proxy:
        monkeypatch.setenv(variable(CONN_ID), s3.connection_at(proxy.endpoint))
        assert plan_erase(past.pipeline, told()).versions
