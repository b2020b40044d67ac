"""Documents that version 0.1 wrote before any key was renamed are read by today's classes.

`documents_of_0_1.json` holds what real runs of that version left, path by path: take-ins, a
backfill, a rejection and a reinstatement, a release, a redo, a rebuild, a fork, a flush, late rows,
a withdrawn event. What only Kafka, Airflow or a notification leaves was written by that version's
own functions. It is never rewritten.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tidemill
import tidemill_airflow
from tidemill.compatibility.compare import Passed
from tidemill.compatibility.creation_snapshot import CreationSnapshot
from tidemill.contract.document import FORMAT_VERSION, Document
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Report
from tidemill.generations.build import GenerationBuild
from tidemill.increments.increments import Increments, State
from tidemill.increments.records import Rejection, Release, Sealed, Verdict
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.event import Announced, Applied, Event, Withdrawal
from tidemill.journal.journal import Journal
from tidemill.journal.published_files import PublishedFiles, files_now
from tidemill.journal.takeovers import Takeover, current, read_takeovers
from tidemill.ledger.approval import Approval, read_approval
from tidemill.ledger.batch import Batch, Start
from tidemill.ledger.flushes import Flush, flushes
from tidemill.ledger.generation_note import GenerationNote, read_note
from tidemill.ledger.late_rows import LateLog, LateRows
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.manifests import Manifest, read_manifest
from tidemill.ledger.run_increment import RunIncrement
from tidemill.ledger.run_request import RunRequest, read_request
from tidemill.ledger.running_queries import RunningQuery
from tidemill.ledger.source_record import BoundSource
from tidemill.sources.files.clean_source import Cleaned, CleanedUpTo, Cleaning
from tidemill.sources.kafka.accepted_loss import AcceptedLoss, Losses, PassedLoss
from tidemill.sources.kafka.lag import Arrivals
from tidemill.sources.kafka.topics import TopicRecord, records_of
from tidemill.steps.read_only.requalify import Requalification
from tidemill.storage import documents
from tidemill.storage.lease import Holder, Released, current_holder
from tidemill.storage.root_identity import Born, RootIdentity, root_id_of
from tidemill_airflow.dags.notify import Notice

NUMBER, NAME = r"\d+", r"[^/]+"
# Where a document is -> what it is.
KINDS: dict[str, type[Document]] = {
    r"\.root\.tidemill\.json": RootIdentity,
    r"root/\.tidemill/root\.json": RootIdentity,
    rf"root/\.tidemill/pipelines/{NAME}\.json": Born,
    rf"root/{NAME}/checkpoints/[^/.]+\.json": GenerationNote,
    rf"root/{NAME}/checkpoints/{NAME}\.plan\.json": CreationSnapshot,
    rf"root/{NAME}/checkpoints/{NAME}\.plans/{NAME}\.json": Passed,
    rf"root/{NAME}/generations/{NUMBER}\.json": Takeover,
    rf"root/{NAME}/generations/live-{NUMBER}\.json": GenerationBuild,
    rf"root/{NAME}/increments/{NUMBER}/{NUMBER}\.json": Verdict,
    rf"root/{NAME}/increments/{NUMBER}/rejection\.json": Rejection,
    rf"root/{NAME}/increments/{NUMBER}/release\.json": Release,
    rf"root/{NAME}/increments/{NUMBER}/sealed\.json": Sealed,
    rf"root/{NAME}/journal/{NUMBER}\.announced": Announced,
    rf"root/{NAME}/journal/{NUMBER}\.cleaned": CleanedUpTo,
    rf"root/{NAME}/journal/{NUMBER}\.[^/.]+\.json": Applied,
    rf"root/{NAME}/journal/{NUMBER}\.json": Event,
    rf"root/{NAME}/journal/{NUMBER}\.withdrawn": Withdrawal,
    rf"root/{NAME}/(generations/live-{NUMBER}\.)?lease/{NUMBER}\.json": Holder,
    rf"root/{NAME}/(generations/live-{NUMBER}\.)?lease/{NUMBER}\.released": Released,
    rf"root/{NAME}/ledger/{NAME}/{NUMBER}\.json": Batch,
    rf"root/{NAME}/ledger/{NAME}/arrivals/{NAME}/{NUMBER}\.json": Arrivals,
    rf"root/{NAME}/ledger/{NAME}/cleaned/{NUMBER}\.done": Cleaned,
    rf"root/{NAME}/ledger/{NAME}/cleaned/{NUMBER}\.json": Cleaning,
    rf"root/{NAME}/ledger/{NAME}/flushes/{NUMBER}\.json": Flush,
    rf"root/{NAME}/ledger/{NAME}/late/{NUMBER}\.json": LateRows,
    rf"root/{NAME}/ledger/{NAME}/losses/{NAME}/{NUMBER}\.json": AcceptedLoss,
    rf"root/{NAME}/ledger/{NAME}/losses/{NAME}/passed/{NUMBER}\.json": PassedLoss,
    rf"root/{NAME}/ledger/{NAME}/sources/{NAME}\.json": BoundSource,
    rf"root/{NAME}/ledger/{NAME}/starts/{NUMBER}\.json": Start,
    rf"root/{NAME}/ledger/{NAME}/topics/{NAME}\.json": TopicRecord,
    rf"root/{NAME}/notices/{NAME}\.json": Notice,
    rf"root/{NAME}/published/{NUMBER}\.json": PublishedFiles,
    rf"root/{NAME}/runs/{NAME}/(doctor|ingest|gate|publish)\.json": Report,
    rf"root/{NAME}/runs/{NAME}/approval\.json": Approval,
    rf"root/{NAME}/runs/{NAME}/increment\.json": RunIncrement,
    rf"root/{NAME}/runs/{NAME}/requalified\.json": Requalification,
    rf"root/{NAME}/runs/{NAME}/requests/{NUMBER}\.json": RunRequest,
    rf"root/{NAME}/streams/{NAME}\.json": RunningQuery,
    rf"root/{NAME}/table/{NAME}/batch={NUMBER}/_manifest\.json": Manifest,
}
DOCUMENTS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("documents_of_0_1.json").read_text(encoding="utf-8")
)


def kind_of(path: str) -> type[Document]:
    (kind,) = [kind for where, kind in KINDS.items() if re.fullmatch(where, path)]
    return kind


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root, with every document in its place."""
    home = tmp_path_factory.mktemp("home")
    for name, content in DOCUMENTS.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return home / "root"


def test_every_document_is_read_and_nothing_of_it_is_lost(root: Path) -> None:
    for name, content in DOCUMENTS.items():
        document = documents.read(root.parent / name, kind_of(name))
        assert document is not None, name
        # Keys may have other names; the values are what was written.
        assert _values(json.loads(document.content())) == _values(content), name
        assert document.format_version == FORMAT_VERSION


def test_every_kind_of_document_is_there() -> None:
    assert {kind_of(name) for name in DOCUMENTS} == {*KINDS.values()}
    assert _classes("Document") == {kind.__name__ for kind in KINDS.values()}


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
