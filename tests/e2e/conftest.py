"""Fixtures of the whole-run tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pipelines.orders_pipeline import OrdersPipeline


@pytest.fixture
def mill(tmp_path: Path) -> OrdersPipeline:
    return OrdersPipeline(tmp_path)
