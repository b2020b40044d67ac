"""What the doctor tries of the file system below `TIDEMILL_ROOT`."""

from __future__ import annotations

import errno
import os

import pytest

from spark_jobs.contract.report import Outcome
from tests.histories import History
from tests.steps.looks import look, refused


@pytest.fixture
def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """As SMB and exFAT answer."""

    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)


def test_a_root_without_hard_links_is_refused_before_there_is_anything_to_write(
    history: History, without_links: None
) -> None:
    history.arrive("new.csv", "id,at\n1,\n")
    looked = history.layout.run("look")
    assert refused(history) == ("NoHardLinks", {"folder": str(looked)})
    assert [path.name for path in looked.iterdir()] == ["doctor.json"]


def test_an_idle_run_tries_nothing(published: History, without_links: None) -> None:
    assert look(published).outcome is Outcome.SKIPPED
