"""Documents that version 0.1 wrote before any key was renamed are read by today's classes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tidemill
import tidemill_airflow
from tests.support.old_documents import DOCUMENTS, unpack
from tidemill.contract.document import FORMAT_VERSION, Document
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Report
from tidemill.increments.increments import Increments, State
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Journal
from tidemill.journal.published_files import files_now
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.ledger.approval import Approval, read_approval
from tidemill.ledger.flushes import flushes
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.late_rows import LateLog
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.losses import Losses
from tidemill.ledger.manifests import read_manifest
from tidemill.ledger.run_request import read_request
from tidemill.ledger.running_queries import RunningQuery
from tidemill.sources.kafka.topics import records_of
from tidemill.steps.parts.document_kinds import DOCUMENT_KINDS
from tidemill.steps.read_only.requalify import Requalification
from tidemill.storage import documents
from tidemill.storage.lease import current_holder
from tidemill.storage.root_identity import Born, RootIdentity, root_id_of
from tidemill_airflow.dags.notify import Notice

# What a later try replaces or takes away, which no upgrade rewrites, by its path.
INFORMS = {
    r"\.root\.tidemill\.json|root/\.tidemill/root\.json": RootIdentity,
    r"root/\.tidemill/pipelines/[^/]+\.json": Born,
    r"root/[^/]+/notices/[^/]+\.json": Notice,
    r"root/[^/]+/runs/[^/]+/(doctor|ingest|gate|publish)\.json": Report,
    r"root/[^/]+/runs/[^/]+/approval\.json": Approval,
    r"root/[^/]+/runs/[^/]+/requalified\.json": Requalification,
    r"root/[^/]+/streams/[^/]+\.json": RunningQuery,
}


# Kinds that version 0.1 did not have.
YOUNGER = {
    "CheckpointSnapshot",
    "CleanedObjects",
    "CleaningObjects",
    "EpochHint",
    "Fetched",
    "LastFailure",
    "PipelineStanding",
    "Relocated",
    "Relocation",
    "Erased",
    "Erasure",
    "ReprocessedRun",
    "Settled",
    "SettledBatches",
    "StatusDocument",
    "WriterSchema",
}


def kind_of(path: Path, root: Path) -> type[Document]:
    pipelines = [home for home in root.iterdir() if home.name != ".tidemill"]
    lasting = (
        kind.model for home in pipelines for kind in DOCUMENT_KINDS if path in kind.paths(home)
    )
    name = str(path.relative_to(root.parent))
    informing = (model for where, model in INFORMS.items() if re.fullmatch(where, name))
    (kind,) = [*lasting, *informing]
    return kind


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root, with every document in its place."""
    return unpack(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def kinds(root: Path) -> dict[str, type[Document]]:
    """The class of each document, by its path."""
    return {name: kind_of(root.parent / name, root) for name in DOCUMENTS}


def test_every_document_is_read_and_nothing_of_it_is_lost(
    root: Path, kinds: dict[str, type[Document]]
) -> None:
    for name, content in DOCUMENTS.items():
        document = documents.read(root.parent / name, kinds[name])
        assert document is not None, name
        # Keys may have other names, and there may be more; the values are what was written.
        kept = document.model_dump(mode="json", exclude_unset=True)
        assert _values(kept) == _values(content), name
        assert document.format_version == FORMAT_VERSION


def test_every_kind_of_document_is_there(kinds: dict[str, type[Document]]) -> None:
    assert {kind.__name__ for kind in kinds.values()} == _classes("Document") - YOUNGER


def test_the_journal_says_what_was_published_and_why(root: Path) -> None:
    journal = Journal(root / "sales" / "journal")
    events = journal.events()
    assert [event.kind for event in events] == [
        "increment",
        "increment",
        "swap",
        "reject",
        "increment",
        "increment",
        "replace",
        "increment",
    ]
    assert journal.published().keys() == {event.seq for event in events}
    assert events[2].stored_in.generation == "backfill-18b4cfed"
    orders = Journal(root / "orders" / "journal")
    assert [event.seq for event in orders.events()] == [1, 2]
    ((event, withdrawal),) = orders.withdrawals()
    assert (event.seq, withdrawal.by, withdrawal.reason) == (3, "ada", "published by mistake")
    assert [event.seq for event in orders.unannounced()] == [2]


def test_increments_are_in_the_state_they_were_left_in(root: Path) -> None:
    found = Snapshot(Layout(root, "sales")).increments
    states = {increment.number: increment.state for increment in found}
    assert states[4] is State.REJECTED
    assert states[5] is State.HELD
    assert states[6] is State.RELEASED
    assert states[7] is State.SUPERSEDED
    assert {states[number] for number in (1, 2, 3, 8, 9, 10)} == {State.PASSED}
    (released,) = [one.release for one in found if one.release is not None]
    assert (released.by, released.reason) == ("ada", "the sums were wrong")
    assert Increments(root / "orders" / "increments").sealed(1).net is not None


def test_the_live_generation_is_the_last_that_took_over(root: Path) -> None:
    for pipeline, kind, supersedes in (("sales", "rebuild", ()), ("windows", "fork", (4, 5))):
        layout = Layout(root, pipeline)
        (takeover,) = read_takeovers(layout.home)
        assert (takeover.kind, takeover.generation) == (kind, "live-0002")
        assert takeover.supersedes == supersedes
        assert current(layout) == "live-0002"
        note = read_note(layout, "live-0002")
        assert note is not None
        assert note.root == root_id_of(root)


def test_the_ledger_says_what_was_read_and_written(root: Path) -> None:
    sales = Ledger(Layout(root, "sales"), "live-0001")
    assert [batch.rows for batch in sales.batches()] == [2, 3, 1, 1, 2]
    first = sales.batches()[0]
    assert [Path(file.path).name for file in first.inputs] == ["1.json"]
    assert first.rejected == 1
    assert sales.pins_of(0)["regions"].identity == first.static["regions"].identity
    windows = Layout(root, "windows")
    (flush,) = flushes(windows, "live-0001")
    assert (flush.batch, flush.by) == (3, "ada")
    assert [late.rows for late in LateLog(windows, "live-0001").read()] == [0, 2]
    manifest = read_manifest(Layout(root, "orders").sink("live-0001"), 0)
    assert manifest is not None
    assert sum(file.rows for file in manifest.files) == 4


def test_a_run_says_what_was_asked_of_it_and_how_its_steps_ended(root: Path) -> None:
    runs = root / "sales" / "runs"
    roles = {read_request(runs / name).role for name in ("run-1", "backfill-1", "redo-1")}
    assert roles == {"live", "backfill", "redo"}
    approval = read_approval(runs / "release-1")
    assert approval is not None
    assert (approval.request.role, approval.request.increment) == ("release", 6)
    held = documents.read(runs / "run-3" / "gate.json", Report)
    assert held is not None
    assert held.outcome is Outcome.HELD
    assert current_holder(root / "sales" / "lease") is None


def test_what_kafka_lost_and_which_topics_it_had_is_known(root: Path) -> None:
    clicks = Layout(root, "clicks")
    losses = Losses(clicks, "live-0001", "clicks")
    (loss,) = losses.all()
    assert (loss.records, loss.ranges[0].until) == (5, 15)
    assert losses.waiting() is None
    (topic,) = records_of(clicks, "live-0001", "clicks")
    assert (topic.topic, topic.partitions) == ("clicks", 2)


def test_the_files_that_consumers_read_are_those_of_the_last_rebuild(root: Path) -> None:
    found = files_now(Layout(root, "sales"))
    assert {Path(file.path).parts[1] for file in found} == {"_live-0002"}
    assert sum(file.rows for file in found) == 7


def _values(content: Any) -> list[Any]:
    """The values of a document in their order, whatever the keys that name them."""
    if isinstance(content, dict):
        fields = (item for key, item in content.items() if key != "format_version")
        return [value for item in fields for value in _values(item)]
    if isinstance(content, list):
        return [value for item in content for value in _values(item)]
    return [content]


def _classes(base: str) -> set[str]:
    """The product's classes that are derived from one, by name."""
    folders = (Path(tidemill.__file__).parent, Path(tidemill_airflow.__file__).parent)
    texts = (path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py"))
    derived = {pair for text in texts for pair in re.findall(r"class (\w+)\((\w+)\):", text)}
    found = {base}
    while more := {name for name, parent in derived if parent in found} - found:
        found |= more
    return found - {base}
