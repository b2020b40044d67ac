"""The plan fingerprint: put down once, of what a generation was born with, and read back whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.histories.fingerprinted_generation import CODE, born
from tests.support.histories.history_builder import NAME, History
from tidemill.compatibility.change import QueryChanged
from tidemill.compatibility.code_hash import hash_of_code
from tidemill.compatibility.compare import born_of, refuse_changes
from tidemill.compatibility.creation_snapshot import put_fingerprint, read_fingerprint
from tidemill.contract.project import REPOSITORY
from tidemill.ledger.generation_note import hash_of_spec, read_note
from tidemill.spec.load import load_spec
from tidemill.spec.spec import Spec

LIVE = "live-0001"
SPECS = sorted((REPOSITORY / "dags" / "specs").glob("*.yaml"))


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_a_spec_is_read_back_as_it_was(path: Path, history: History) -> None:
    history.start()
    spec = load_spec(path, {"TIDEMILL_INPUT": "/in", "TIDEMILL_RETAIL": "/in"})
    pipeline = replace(history.pipeline, spec=spec)
    note = born(history).model_copy(
        update={"generation": "live-0002", "spec_hash": hash_of_spec(spec)}
    )
    code = history.project.transform(NAME)
    code.rename(code.with_stem(spec.transform or NAME))
    put_fingerprint(pipeline, note)
    found = read_fingerprint(history.layout, "live-0002")
    assert found is not None
    assert hash_of_spec(Spec.model_validate(found.spec)) == hash_of_spec(spec)


def test_it_is_written_once(run: History) -> None:
    note = born(run)
    path = run.layout.fingerprint(LIVE)
    content = path.read_text()
    run.write_spec(more="row_rules: {id: id > 0}")
    put_fingerprint(run.pipeline, note)
    assert path.read_text() == content
    assert json.loads(content)["code"] == CODE


def test_a_generation_that_was_born_without_one_gets_none_of_another_spec(run: History) -> None:
    run.write_spec(more="row_rules: {id: id > 0}")
    note = born(run)
    assert read_fingerprint(run.layout, LIVE) is None
    assert born_of(run.pipeline, note) is None
    run.write_spec()
    put_fingerprint(run.pipeline, note)
    assert read_fingerprint(run.layout, LIVE) is not None


def test_an_option_that_is_refused_since_leaves_the_rest_to_compare(run: History) -> None:
    born(run)
    found = read_fingerprint(run.layout, LIVE)
    assert found is not None
    orders = {**found.spec["sources"]["orders"], "options": {"enableDateTimeParsingFallback": True}}
    older = found.model_copy(update={"spec": {**found.spec, "sources": {"orders": orders}}})
    assert older.born() == found.born() is not None


def test_one_that_is_not_of_this_note_says_nothing(run: History) -> None:
    note = born(run)
    assert born_of(run.pipeline, note) is not None
    assert born_of(run.pipeline, note.model_copy(update={"query_id": "other"})) is None


def test_a_spec_with_which_it_cannot_go_on_is_refused_with_all_that_is_wrong(run: History) -> None:
    born(run)
    refuse_changes(run.pipeline, read_note(run.layout, LIVE))
    run.inputs.with_name("elsewhere").mkdir()
    run.write_spec(inputs=str(run.inputs.with_name("elsewhere")), more="row_rules: {id: id > 0}")
    with pytest.raises(QueryChanged) as refused:
        refuse_changes(run.pipeline, read_note(run.layout, LIVE))
    (change,) = refused.value.changes
    assert (change["field"], change["was"]) == ("sources.orders.path", str(run.inputs))
    assert "tidemill rebuild orders" in refused.value.remedy


def test_a_default_that_has_changed_is_refused_until_the_spec_says_which_one(run: History) -> None:
    note = born(run)
    refuse_changes(run.pipeline, note)
    path = run.layout.fingerprint(LIVE)
    written = json.loads(path.read_text())
    assert written.pop("defaults") == {"sources.orders": {"escape": '"'}}
    path.unlink()
    # As an older version left it, which read with Spark's own default.
    path.write_text(json.dumps(written))
    with pytest.raises(QueryChanged) as refused:
        refuse_changes(run.pipeline, note)
    assert refused.value.data["field"] == "sources.orders.options.escape"
    run.write_spec(source=", options: {escape: '\\'}")
    refuse_changes(run.pipeline, note)


def test_comments_and_line_breaks_are_no_code() -> None:
    same = CODE.replace('"id > 0"', "\n        'id > 0',  # of ours\n    ").replace("All", "Each")
    other = CODE.replace("id > 0", "id > 1")
    hashes = [hash_of_code(code.encode(), ".py") for code in (CODE, same, other)]
    assert hashes[0] == hashes[1] != hashes[2]
    queries = [hash_of_code(text, ".sql") for text in (b"SELECT 1", b"SELECT 1 -- one")]
    assert queries[0] != queries[1]
