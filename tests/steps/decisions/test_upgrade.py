"""`upgrade` rewrites documents of an older format, and neither loses nor changes what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.old_documents import unpack
from tests.support.processes import child
from tidemill.contract.document import FORMAT_VERSION, MAJOR, Document
from tidemill.contract.layout import Layout
from tidemill.journal.journal import Journal
from tidemill.reporting.pipeline_status import read_status
from tidemill.steps.decisions.upgrade import old_documents, upgrade
from tidemill.steps.parts.document_kinds import DOCUMENT_KINDS
from tidemill.storage import documents
from tidemill.storage.documents import NewerFormat, TornDocument
from tidemill.storage.lease import LeaseHeld, hold

PIPELINES = ("sales", "windows", "orders", "clicks")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack(tmp_path)


@pytest.fixture
def sales(root: Path) -> Layout:
    return Layout(root, "sales")


def read_all(layout: Layout) -> dict[Path, Document | None]:
    return {
        path: documents.read(path, kind.model)
        for kind in DOCUMENT_KINDS
        for path in kind.paths(layout.home)
    }


def versions(paths: list[Path]) -> set[str | None]:
    return {json.loads(path.read_bytes()).get("format_version") for path in paths}


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_every_document_is_rewritten_and_says_the_same(root: Path, pipeline: str) -> None:
    layout = Layout(root, pipeline)
    before = read_all(layout)
    assert versions([*before]) == {None}
    assert {*upgrade(layout, "up")} == {*before}
    assert versions([*before]) == {FORMAT_VERSION}
    # The lease has an epoch more, that of the upgrade itself.
    assert {path: one for path, one in read_all(layout).items() if path in before} == before
    assert old_documents(layout) == []


def test_hashes_and_states_are_what_they_were(root: Path, sales: Layout) -> None:
    before, events = read_status(sales), Journal(sales.journal).events()
    assert [*upgrade(sales, "up")] != []
    assert read_status(sales) == before
    assert [event.files_hash for event in Journal(sales.journal).events()] == [
        event.files_hash for event in events
    ]


def test_a_second_upgrade_touches_nothing(sales: Layout) -> None:
    rewritten = [*upgrade(sales, "first")]
    times = {path: path.stat().st_mtime_ns for path in rewritten}
    assert [*upgrade(sales, "second")] == []
    assert {path: path.stat().st_mtime_ns for path in rewritten} == times


# Rewrites some documents and is killed before the next one.
KILLED = """
import os, signal, sys
from pathlib import Path
from tidemill.contract.layout import Layout
from tidemill.steps.decisions.upgrade import upgrade
for number, path in enumerate(upgrade(Layout(Path(sys.argv[1]), "sales"), "killed"), 1):
    print(path, flush=True)
    if number == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_upgrade_that_is_killed_is_continued_by_the_next(sales: Layout) -> None:
    before = read_all(sales)
    with child(KILLED, sales.root, "7") as process:
        output, _ = process.communicate()
    done = [Path(line) for line in output.splitlines()]
    assert len(done) == 7
    # Old and new ones stand side by side, and all are read.
    assert {path: one for path, one in read_all(sales).items() if path in before} == before
    # A rewrite that was cut short leaves the document as it was, and a draft that counts nothing.
    (torn, _), *_ = old_documents(sales)
    torn.with_name(f".{torn.name}.tidemill").write_text('{"format_ver')
    assert {*upgrade(sales, "next")} >= {*before} - {*done}
    assert {path: one for path, one in read_all(sales).items() if path in before} == before
    assert old_documents(sales) == []
    assert [*sales.home.rglob("*.tidemill")] == []


def test_nobody_else_writes_meanwhile(sales: Layout) -> None:
    rewriting = upgrade(sales, "up")
    next(rewriting)
    with pytest.raises(LeaseHeld), hold(sales.lease, step="ingest", run_id="other", patience=0.1):
        pass
    rewriting.close()
    with hold(sales.lease, step="ingest", run_id="other", patience=0.1):
        assert old_documents(sales) != []


@pytest.mark.parametrize("damage", ["{", '{"colour": "blue"}'])
def test_a_damaged_document_stops_it_before_anything_is_rewritten(
    sales: Layout, damage: str
) -> None:
    torn = sales.journal / "000008.json"
    torn.write_text(damage)
    before = {path: path.read_bytes() for path in sales.home.rglob("*.json")}
    with pytest.raises(TornDocument) as refused:
        [*upgrade(sales, "up")]
    assert refused.value.path == torn
    assert {path: path.read_bytes() for path in before} == before


def test_a_document_of_a_newer_version_is_left_alone_or_stops_it(sales: Layout) -> None:
    path = sales.journal / "000008.json"
    newer = {**json.loads(path.read_text()), "format_version": f"{MAJOR}.999", "colour": "blue"}
    path.write_text(json.dumps(newer))
    assert path not in [*upgrade(sales, "up")]
    assert json.loads(path.read_text()) == newer
    path.write_text(json.dumps({"format_version": f"{MAJOR + 1}.0"}))
    with pytest.raises(NewerFormat) as refused:
        old_documents(sales)
    assert refused.value.path == path
