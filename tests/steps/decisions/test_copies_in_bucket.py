"""Copies of pipelines below another root in an object store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.servers.s3 import S3
from tests.support.histories.history_builder import NAME, History, reject, rows
from tests.support.histories.moved_history import Moved, fields_of_entries
from tests.support.kills.killed_step import killed_at
from tests.support.remedies import carry_out
from tests.support.s3_root import history_in_bucket
from tidemill.cli.app import app
from tidemill.contract.errors import ExitCode
from tidemill.contract.objects.object_path import path_of
from tidemill.contract.report import Outcome
from tidemill.generations.verify import open_generation
from tidemill.ledger.generation_note import read_note
from tidemill.steps.decisions import copy_pipelines as step
from tidemill.steps.decisions import placed_objects
from tidemill.steps.decisions.copy_pipelines import CopyInPlace, copy_pipelines
from tidemill.storage.folders import walk
from tidemill.storage.lease import current_holder
from tidemill.storage.relocations import RelocationUnfinished, unfinished_relocation
from tidemill.storage.root_identity import root_id_of
from tidemill.storage.target_names import name_in_targets

GENERATION = "live-0001"


@pytest.fixture
def past(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> History:
    """A published increment and one that is still to go out."""
    history = history_in_bucket(tmp_path, s3, monkeypatch)
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment(rows(2), [reject("b")])
    return history


@pytest.fixture(params=["another bucket", "another folder"])
def copy(request: pytest.FixtureRequest, past: History, s3: S3) -> Moved:
    """Where the copy is to be, of which nothing is there."""
    if request.param == "another folder":
        return Moved(past, past.root.with_name("copy"))
    return Moved(past, path_of(f"s3a://{s3.fresh_bucket()}/copy"))


def copy_to(history: History, root: Path) -> None:
    assert [*copy_pipelines([history.pipeline], root, "copy")]


def objects(past: History, s3: S3) -> dict[str, bytes]:
    """What is below the original, without its lease."""
    found = s3.objects(past.layout.home.parts[2])
    prefix = f"{past.root.parts[-1]}/{NAME}/"
    return {key: it for key, it in found.items() if prefix in key and "/lease/" not in key}


def assert_whole(past: History, copy: Moved) -> None:
    assert unfinished_relocation(copy.layout.home) is None
    assert current_holder(past.layout.lease) is None
    sinks = [one.layout.sink(GENERATION) for one in (past, copy)]
    assert fields_of_entries(sinks[0]) == fields_of_entries(sinks[1])
    assert copy.published() == past.published()
    note = read_note(copy.layout, GENERATION)
    assert note is not None
    assert note.root == root_id_of(copy.root) != root_id_of(past.root)
    assert name_in_targets(copy.layout) == NAME
    assert open_generation(copy.pipeline).written == 1
    assert copy.publish("there").outcome is Outcome.DONE
    assert (copy.ids(), past.ids()) == ([1, 2], [1])
    assert past.publish().outcome is Outcome.DONE
    assert (past.ids(), past.records()) == ([1, 2], ["a", "b"])


def test_a_copy_goes_on_without_its_original(past: History, copy: Moved, s3: S3) -> None:
    before = objects(past, s3)
    copy_to(past, copy.root)
    assert objects(past, s3) == before
    assert_whole(past, copy)
    with pytest.raises(CopyInPlace):
        copy_to(past, copy.root)


@pytest.mark.remedy("RelocationUnfinished")
@pytest.mark.parametrize(
    ("module", "killed"),
    [(placed_objects, "put_whole"), (placed_objects, "copy_file"), (step, "register")],
)
def test_half_copied_it_is_refused_and_finished_by_the_next(
    past: History, copy: Moved, monkeypatch: pytest.MonkeyPatch, module: ModuleType, killed: str
) -> None:
    with killed_at(monkeypatch, module, killed):
        copy_to(past, copy.root)
    with pytest.raises(RelocationUnfinished):
        # Some of it is still to be copied.
        copy.relocate()
    with pytest.raises(RelocationUnfinished) as refused:
        open_generation(copy.pipeline)
    # The command is one of the original's root.
    carry_out(past, refused.value.remedy, "relocate")
    assert_whole(past, copy)


def test_what_is_whole_is_finished_by_either_command(
    past: History, copy: Moved, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_at(monkeypatch, step, "relocate"):
        copy_to(past, copy.root)
    copy.relocate()
    assert_whole(past, copy)


def test_a_copy_is_shown_first_and_made_with_apply(past: History, copy: Moved) -> None:
    words = ("relocate", NAME, "--copy-to", str(copy.root), "--json")
    (shown,) = typed(past, words)
    assert (shown["files"], shown["needed"]) == (len([*walked(past.layout.home)]), True)
    assert not copy.root.is_dir()
    (done,) = typed(past, (*words, "--apply"))
    assert done["home"] == str(copy.layout.home)
    assert copy.ids() == past.ids() == [1]


def typed(history: History, words: tuple[str, ...]) -> list[dict[str, Any]]:
    answer = CliRunner().invoke(app, words, env=history.environ)
    assert answer.exit_code == ExitCode.DONE, answer.output
    found: list[dict[str, Any]] = json.loads(answer.stdout)["pipelines"]
    return found


def walked(folder: Path) -> Iterator[Path]:
    for place, _, names in walk(folder):
        yield from (place / name for name in names)


def test_a_copy_is_refused_on_a_disk_and_in_its_own_root(past: History, tmp_path: Path) -> None:
    for root in (tmp_path / "copy", past.root, past.root / "below"):
        with pytest.raises(CopyInPlace) as refused:
            copy_to(past, root)
        assert refused.value.path == root
    assert not (tmp_path / "copy").exists()
