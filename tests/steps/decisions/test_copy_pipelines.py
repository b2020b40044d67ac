"""Copies of pipelines below another root: consistent, on their own, and no harm to the original."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.moved_history import Moved, fields_of_entries
from tests.support.table_reader import tree
from tidemill.contract.report import Outcome
from tidemill.generations.verify import open_generation
from tidemill.ledger.generation_note import read_note
from tidemill.steps.decisions import copy_pipelines as step
from tidemill.steps.decisions.copy_pipelines import CopyInPlace, CopyReachesOut, copy_pipelines
from tidemill.storage.lease import LeaseHeld, current_holder, hold
from tidemill.storage.relocations import RelocationUnfinished, unfinished_relocation
from tidemill.storage.root_identity import root_id_of, verify_root

GENERATION = "live-0001"
KAFKA = "publish: [{kind: kafka, topic: orders}]"


@pytest.fixture
def past(history: History) -> History:
    """A published increment and one that is still to go out."""
    verify_root(history.root, {})
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment(rows(2), [reject("b")])
    return history


@pytest.fixture
def copy(past: History) -> Moved:
    return Moved(past, past.home / "copy")


def copy_to(history: History, root: Path) -> None:
    for _ in copy_pipelines([history.pipeline], root, "copy"):
        pass


def test_a_copy_goes_on_without_its_original(past: History, copy: Moved) -> None:
    before = {name: it for name, it in tree(past.root).items() if "/lease/" not in name}
    copy_to(past, copy.root)

    now = {name: it for name, it in tree(past.root).items() if "/lease/" not in name}
    assert now == before
    assert current_holder(past.layout.lease) is None
    sinks = [one.layout.sink(GENERATION) for one in (past, copy)]
    assert fields_of_entries(sinks[0]) == fields_of_entries(sinks[1])
    assert copy.published() == past.published()
    note = read_note(copy.layout, GENERATION)
    assert note is not None
    assert note.root == root_id_of(copy.root) != root_id_of(past.root)
    assert open_generation(copy.pipeline).written == 1
    assert copy.publish("there").outcome is Outcome.DONE
    assert (copy.ids(), past.ids()) == ([1, 2], [1])
    assert past.publish().outcome is Outcome.DONE
    assert past.ids() == [1, 2]
    assert past.records() == copy.records() == ["a", "b"]


@pytest.mark.parametrize("killed", ["while it is copied", "before it is relocated"])
def test_a_copy_that_was_interrupted_is_finished_by_the_next(
    past: History, copy: Moved, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    def die(*_: object) -> None:
        raise OSError(killed)

    name = "begin_relocation" if killed == "while it is copied" else "relocate"
    with monkeypatch.context() as patch:
        patch.setattr(step, name, die)
        with pytest.raises(OSError, match=killed):
            copy_to(past, copy.root)
    assert copy.layout.home.exists() is (name == "relocate")
    if name == "relocate":
        with pytest.raises(RelocationUnfinished):
            open_generation(copy.pipeline)

    copy_to(past, copy.root)
    assert unfinished_relocation(copy.layout.home) is None
    assert open_generation(copy.pipeline).written == 1
    assert copy.ids() == [1]


def test_while_somebody_writes_nothing_is_copied(
    past: History, copy: Moved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "PATIENCE_SECONDS", 0.0)
    with hold(past.layout.lease, step="ingest", run_id="ingest"), pytest.raises(LeaseHeld):
        copy_to(past, copy.root)
    assert not copy.layout.home.exists()


def test_a_folder_that_holds_the_pipeline_or_touches_the_root_takes_no_copy(
    past: History, copy: Moved
) -> None:
    copy_to(past, copy.root)
    for root in (copy.root, past.root, past.root / "below", past.home):
        with pytest.raises(CopyInPlace) as refused:
            copy_to(past, root)
        assert refused.value.path == root
    assert not (past.root / "below").exists()


@pytest.mark.parametrize(
    ("field", "spec"),
    [
        (
            "publish kafka.tidemill_kafka.orders",
            {"more": KAFKA},
        ),
        ("sources.orders.cleanSource", {"source": ", cleanSource: delete"}),
    ],
)
def test_a_copy_whose_runs_would_reach_beyond_it_is_refused(
    make_history: Callable[..., History], field: str, spec: dict[str, str]
) -> None:
    history = make_history(**spec)
    history.increment(rows(1))
    with pytest.raises(CopyReachesOut) as refused:
        copy_to(history, history.home / "copy")
    assert refused.value.field == field
    assert not (history.home / "copy").exists()
