"""The table's history: who published what, from where, and in spite of which verdict."""

from __future__ import annotations

import json
from typing import Any

from deltalake import DeltaTable

from tests.support.histories.history_builder import History, reject, rows


def entries(history: History) -> list[dict[str, Any]]:
    """Oldest first."""
    return DeltaTable(history.layout.table).history()[::-1]


def test_a_commit_says_run_batches_offsets_and_verdict(history: History) -> None:
    history.batch(rows(1))
    history.batch(rows(2), [reject("a")])
    sealed = history.seal("scheduled__2024-01-01")
    history.judge(sealed.increment)
    history.publish("another run")
    (entry,) = entries(history)
    assert entry["tidemill.increment"] == "000001"
    assert entry["tidemill.journal"] == "1"
    assert entry["tidemill.batches"] == "live-0001:0-1"
    # The run that sealed it, not the one that let it out.
    assert entry["tidemill.run_id"] == "scheduled__2024-01-01"
    assert json.loads(entry["tidemill.offsets"]) == {"orders": {"logOffset": 1}}
    verdict = json.loads(entry["tidemill.verdict"])
    assert (verdict["outcome"], verdict["files_hash"]) == ("passed", sealed.files_hash)
    assert entry["tidemill.files"] == sealed.files_hash
    assert "tidemill.release" not in entry


def test_a_release_says_by_whom_and_why(history: History) -> None:
    history.increment(rows(1), outcome="held")
    history.release(1, by="ann", reason="a known promotion, é")
    history.publish()
    (entry,) = entries(history)
    release = json.loads(entry["tidemill.release"])
    assert (release["by"], release["reason"]) == ("ann", "a known promotion, é")
    verdict = json.loads(entry["tidemill.verdict"])
    assert (verdict["outcome"], verdict["reasons"]) == ("held", ["bad"])


def test_a_released_increment_without_any_verdict_says_so(history: History) -> None:
    history.batch(rows(1))
    history.seal()
    history.release(1)
    history.publish()
    (entry,) = entries(history)
    assert json.loads(entry["tidemill.verdict"]) == {}
    assert json.loads(entry["tidemill.release"])["by"] == "ann"


def test_the_rejected_table_names_the_same_increment(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.increment(rows(2), [reject("b")])
    history.publish()
    rejected = DeltaTable(history.layout.rejected).history()[::-1]
    for number, (good, bad) in enumerate(zip(entries(history), rejected, strict=True), start=1):
        assert good["tidemill.increment"] == bad["tidemill.increment"] == f"{number:06d}"


def test_the_details_of_a_judgement_stay_out_of_the_history(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    assert "judgement" not in json.loads(entries(history)[0]["tidemill.verdict"])
