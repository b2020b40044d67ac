"""A pipeline that two hosts write to, and an observer here that does not wait for a minute."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.history_builder import History
from tidemill.storage import lease

# Seconds without a beat after which we take the other host's writer for dead.
TIME_LIMIT = 1.0


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    watch = lease._Watch
    monkeypatch.setattr(lease, "_Watch", lambda folder, _: watch(folder, TIME_LIMIT))
    return History(tmp_path)
