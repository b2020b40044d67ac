"""Fixtures of the command line's tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.histories.history_builder import History
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.cli.app import app


@dataclass(frozen=True)
class Answer:
    """What a command answered."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def pipeline(self) -> Any:
        """What `tidemill run` or `tidemill status` answered of its only pipeline."""
        (only,) = self.json["pipelines"]
        return only


Tidemill = Callable[..., Answer]


@pytest.fixture
def mill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OrdersPipeline:
    """A pipeline that can run, with the environment of commands set to it."""
    mill = OrdersPipeline(tmp_path)
    for name in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS", "ORDERS_INPUT"):
        monkeypatch.setenv(name, mill.environ[name])
    return mill


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """A pipeline with a past, with the environment of commands set to it."""
    history = History(tmp_path)
    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    return history


@pytest.fixture(scope="session")
def tidemill() -> Tidemill:
    """Calls the command in this process: `tidemill("status", "orders", "--json")`."""

    def call(*arguments: str) -> Answer:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        return Answer(result.exit_code, result.stdout, result.stderr)

    return call
