"""Fixtures of the whole-run tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pipelines.orders_pipeline import Mill


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    return Mill(tmp_path)
