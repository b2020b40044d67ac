"""A past whose root is in an object store is looked at, published and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.s3 import S3
from tests.support.histories.history_builder import History, reject, rows
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
