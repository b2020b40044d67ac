"""The log of a table that other pipelines read keeps every entry."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import PostCommitHookProperties

from tests.support.histories.history_builder import History, row
from tidemill.publish.delta.log_checkpoint import checkpoint_log
from tidemill.storage.tables_read import mark_read

# Every second commit makes a checkpoint, and all entries before it are old at once.
HASTY = {"delta.checkpointInterval": "2", "delta.logRetentionDuration": "interval 0 days"}

KEPT = PostCommitHookProperties(cleanup_expired_logs=False)


@pytest.mark.parametrize("read", [False, True], ids=["not read", "read"])
def test_old_entries_go_only_where_no_pipeline_reads_the_table(tmp_path: Path, read: bool) -> None:
    history = History(tmp_path)
    if read:
        mark_read(history.layout)
    for number in range(6):
        history.increment([row(number)])
        history.publish()
        if number == 0:
            history.delta().alter.set_table_properties(HASTY, post_commithook_properties=KEPT)
    checkpoint_log(history.layout, history.layout.table)
    log = history.layout.table / "_delta_log"
    entries = {path.name for path in log.glob("*.json")}
    assert any(log.glob("*.checkpoint.parquet"))
    assert (f"{0:020}.json" in entries) is read
    assert len(history.delta().to_pyarrow_table()) == 6
