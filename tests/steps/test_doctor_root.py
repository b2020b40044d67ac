"""What the doctor tries of the file system below `TIDEMILL_ROOT`."""

from __future__ import annotations

import errno
import os

import pytest

from tests.support.doctor_report import refused
from tests.support.histories.history_builder import History


@pytest.fixture
def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """As SMB and exFAT answer."""

    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)


def test_a_root_without_hard_links_is_refused_before_anything_is_done_in_it(
    history: History, without_links: None
) -> None:
    history.arrive("new.csv", "id,at\n1,\n")
    assert refused(history) == ("NoHardLinks", {"folder": str(history.root / ".tidemill")})
    left = {path for path in history.root.rglob("*") if path.is_file()}
    assert left == {history.layout.run("look") / "doctor.json", history.layout.status}
