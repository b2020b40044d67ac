"""Publish is killed between its commits; the next one makes up for it, once."""

from __future__ import annotations

import os
from pathlib import Path

from deltalake import DeltaTable

from tests.support.histories.history_builder import History, reject, rows
from tests.support.processes import waiting_child
from tidemill.contract.report import Outcome
from tidemill.storage.lease import newest_epoch

# Publishes with a target that stops at a point and says so.
STOPS = """
import signal, sys
from pathlib import Path
from tidemill.main import main
from tidemill.publish.delta.target import DeltaTarget
from tidemill.publish import registry

reached, point = Path(sys.argv[1]), sys.argv[2]

def stop():
    reached.touch()
    signal.pause()

class Stopping(DeltaTarget):
    def _commit(self, *arguments):
        if point == "before":
            stop()
        super()._commit(*arguments)
        if point == "after":
            stop()

registry.DeltaTarget = Stopping
sys.exit(main(["publish", "orders", "--run-id", "killed"]))
"""


def killed_at(history: History, point: str, reached: Path) -> None:
    with waiting_child(STOPS, reached, point, environ=history.environ) as process:
        assert process.poll() is None
    assert process.returncode == -9


def test_killed_between_the_commit_of_rejected_and_of_the_table(
    history: History, tmp_path: Path
) -> None:
    history.increment(rows(1, 2), [reject("a"), reject("b")])
    history.increment(rows(3), [reject("c")])
    killed_at(history, "before", tmp_path / "reached")
    assert history.log(history.layout.rejected) == ["00000000000000000000.json"]
    assert history.log() == []
    rejected = DeltaTable(history.layout.rejected)
    assert rejected.transaction_version("orders/live-0001") == 0
    assert rejected.transaction_version("tidemill.lease") == newest_epoch(history.layout.lease)
    assert [event.increment for event in history.journal.events()] == [1, 2]
    assert history.journal.applied(1, "delta") is None
    assert history.publish("run-2").outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1, 2, 3], ["a", "b", "c"])
    assert len(history.log(history.layout.rejected)) == 2


def test_so_it_goes_for_a_later_increment(history: History, tmp_path: Path) -> None:
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment(rows(2), [reject("b")])
    killed_at(history, "before", tmp_path / "reached")
    assert len(history.log(history.layout.rejected)) == 2
    assert (len(history.log()), history.ids()) == (1, [1])
    assert history.publish("run-2").outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1, 2], ["a", "b"])


def test_killed_between_the_commit_of_the_table_and_the_journal(
    history: History, tmp_path: Path
) -> None:
    history.increment(rows(1), [reject("a")])
    killed_at(history, "after", tmp_path / "reached")
    assert (len(history.log()), history.ids()) == (1, [1])
    assert history.journal.applied(1, "delta") is None
    report = history.publish("run-1")
    assert [p["version"] for p in report.facts["published"]] == [0]
    assert (len(history.log()), history.ids(), history.records()) == (1, [1], ["a"])


def test_a_copy_of_rejected_rows_that_was_cut_short_is_never_read(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    rejected = history.layout.rejected
    rejected.mkdir()
    (rejected / ".live-0001-000001-000001.parquet.77").write_bytes(b"PAR1 cut off")
    (rejected / "live-0001-000001-000001.parquet").write_bytes(b"PAR1 of an older epoch")
    history.publish()
    assert (history.ids(), history.records()) == ([1], ["a"])
    assert os.path.basename(DeltaTable(rejected).file_uris()[0]) != (  # noqa: PTH119 - a URI
        "live-0001-000001-000001.parquet"
    )
