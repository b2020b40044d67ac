"""`tidemill upgrade`: shows which documents are of an older format, and rewrites them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import NAME, History
from tests.support.old_documents import unpack
from tidemill.contract.document import FORMAT_VERSION


@pytest.fixture
def old(history: History, tmp_path: Path) -> History:
    """A pipeline whose documents an older version wrote."""
    shutil.copytree(unpack(tmp_path / "old") / NAME, history.layout.home, dirs_exist_ok=True)
    return history


def test_it_shows_what_it_would_rewrite_and_then_does(old: History, tidemill: Tidemill) -> None:
    event = old.layout.journal / "000001.json"
    before = event.read_bytes()
    plan = tidemill("upgrade", "--dry-run", "--json").json["plan"]
    (shown,) = [step for step in plan if "of kind Event of orders" in step]
    assert shown.startswith("rewrite 3 documents")
    assert event.read_bytes() == before
    document = tidemill("upgrade", NAME, "--yes", "--json").json
    assert document["format_version"] == FORMAT_VERSION
    (done,) = document["pipelines"]
    assert (done["old"]["Event"], done["old"]["Batch"], done["old"]["Manifest"]) == (3, 3, 3)
    assert done["rewritten"] == sum(done["old"].values())
    assert event.read_bytes() != before
    (after,) = tidemill("upgrade", NAME, "--json").json["pipelines"]
    assert after == {"pipeline": NAME, "old": {}, "rewritten": 0}


def test_a_pipeline_that_is_not_there_is_refused(old: History, tidemill: Tidemill) -> None:
    assert tidemill("upgrade", "order", "--json").exit_code == 2
