"""What the one-shot service does: the root is made once, and never in the place of a lost one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compose.composition import Composition, written_env
from tidemill.storage.root_identity import RootNotInitialised, verify_root
from tidemill_airflow.local.compose_init import make_root


def test_a_volume_that_is_lost_later_is_refused_and_not_made_anew(tmp_path: Path) -> None:
    environ = Composition(written_env(tmp_path)).environment("airflow-scheduler")
    root, made = tmp_path / "root", tmp_path / "root-is-made"
    make_root(root, made, environ)
    assert verify_root(root, environ) is None
    root.rename(tmp_path / "lost")
    root.mkdir()
    make_root(root, made, environ)
    with pytest.raises(RootNotInitialised):
        verify_root(root, environ)
