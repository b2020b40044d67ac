"""`expectations/` is a Great Expectations project whose suites Great Expectations wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import great_expectations as gx
import pytest

from tidemill.contract.project import REPOSITORY
from tidemill.gate.gx_internals.known_expectations import known_expectations
from tidemill.gate.suite import load_suite

PROJECT = REPOSITORY / "expectations"
SUITES = sorted((PROJECT / "suites").glob("*.json"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy, because Great Expectations makes folders for itself when it opens one."""
    return Path(shutil.copytree(PROJECT, tmp_path / "expectations"))


def test_great_expectations_opens_it_and_changes_nothing_that_is_committed(project: Path) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    context = gx.get_context(mode="file", context_root_dir=project)
    assert {suite.name for suite in context.suites.all()} == {path.stem for path in SUITES}
    after = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert after == before
    new = {path.relative_to(project).parts[0] for path in project.iterdir()}
    made = {"checkpoints", "validation_definitions", "uncommitted"}
    assert new <= {"great_expectations.yml", ".gitignore", "suites", *made}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_a_suite_is_what_great_expectations_writes(project: Path, path: Path) -> None:
    context = gx.get_context(mode="file", context_root_dir=project)
    ours = load_suite(path)
    theirs = context.suites.get(path.stem)
    assert len(theirs.expectations) == len(ours.expectations)
    theirs.save()
    assert json.loads((project / "suites" / path.name).read_text()) == ours.raw


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_a_suite_names_expectations_that_exist(path: Path) -> None:
    assert {e.type for e in load_suite(path).expectations} <= set(known_expectations())
