"""Properties of the spec: the table has them from its first commit on, and follows the spec."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.histories.history_builder import History, row, rows
from tests.support.histories.net_history_builder import NetHistory, count, hour
from tests.support.pages import BLOCKS
from tidemill.contract.report import Outcome
from tidemill.publish.delta.target import DeltaTarget
from tidemill.storage.lease import newest_epoch

KEEP, CHANGES = "delta.logRetentionDuration", "delta.enableChangeDataFeed"


def spec(history: History, **properties: str) -> None:
    given = ", ".join(f"delta.{name}: {value}" for name, value in properties.items())
    history.write_spec(more=f"publish: [{{kind: delta, table_properties: {{{given}}}}}]")


def test_a_changed_property_is_set_before_the_next_rows_and_once(history: History) -> None:
    history.write_spec(more=BLOCKS["table-properties"])
    history.increment(rows(1))
    history.publish()
    assert history.delta().version() == 0
    assert history.delta().metadata().configuration == {KEEP: "interval 60 days", CHANGES: "true"}

    spec(history, logRetentionDuration="interval 90 days")
    history.increment(rows(2))
    assert history.publish().outcome is Outcome.DONE
    history.increment(rows(3))
    history.publish()
    set_at, after = history.delta(version=1), history.delta()
    assert set_at.metadata().configuration == {KEEP: "interval 90 days", CHANGES: "true"}
    assert set_at.transaction_version("tidemill.lease") == newest_epoch(history.layout.lease) - 1
    assert set_at.transaction_version("orders/live-0001") == 0
    assert (after.version(), after.metadata().configuration[CHANGES]) == (3, "true")
    assert history.ids() == [1, 2, 3]


def test_a_publish_that_was_killed_after_it_set_a_property_goes_on_with_the_rows(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1))
    history.publish()
    spec(history, checkpointInterval="50")
    history.increment(rows(2))
    with monkeypatch.context() as killed:
        killed.setattr(DeltaTarget, "_schema", _killed)
        with pytest.raises(KeyboardInterrupt):
            history.publish()
    assert history.delta().metadata().configuration == {"delta.checkpointInterval": "50"}
    assert history.ids() == [1]
    history.publish()
    assert history.ids() == [1, 2]
    assert history.delta().version() == 2


def test_a_property_that_the_spec_no_longer_has_stays(history: History) -> None:
    spec(history, enableChangeDataFeed="true")
    history.increment(rows(1))
    history.publish()
    history.write_spec(more="")
    history.increment([row(2)])
    history.publish()
    assert history.delta().metadata().configuration == {CHANGES: "true"}


def test_the_change_feed_of_an_upserted_table_has_each_replaced_row(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline")
    spec(history, enableChangeDataFeed="true")
    for number in (3, 4):
        history.increment([count("open", 1, number)])
        history.publish()
    assert history.table() == [("open", hour(1), 4)]
    feed = pa.table(history.delta().load_cdf(starting_version=0).read_all()).to_pydict()
    changes = zip(feed["_commit_version"], feed["_change_type"], feed["count"], strict=True)
    assert sorted(changes) == [(0, "insert", 3), (1, "delete", 3), (1, "insert", 4)]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt
