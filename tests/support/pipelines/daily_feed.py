"""A feed that should bring something every day, as a second pipeline of a project."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from tests.support.pipelines.json_pipeline import SUITE
from tests.support.pipelines.pipeline_folder import RunnablePipeline
from tests.support.pipelines.user_project import write_pipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.ledger import Ledger

NAME = "feed"
TRANSFORM = "def transform(visits):\n    return visits\n"


class DailyFeed(RunnablePipeline):
    """It shares project and root with the pipelines of the same home.

    Args:
        home: Holds `project/`, `root/` and the feed's own folder.
    """

    name = NAME

    def __init__(self, home: Path) -> None:
        self.home = home
        self._folder = home / NAME
        self._folder.mkdir()
        source = {"kind": "file", "format": "json", "path": str(self._folder), "schema": "id long"}
        spec = {
            "sources": {"visits": source},
            "expect": {"every": "1 day"},
            "airflow": {"retry_delay": "1s"},
        }
        write_pipeline(home / "project", NAME, spec, transform=TRANSFORM, suite=SUITE)

    def arrive(self, name: str, at: datetime | None = None) -> None:
        """A file with a row, of today unless it is told to be older."""
        draft = self.home / f"{name}.json"
        draft.write_text('{"id": 1}\n')
        if at is not None:
            os.utime(draft, (at.timestamp(), at.timestamp()))
        draft.replace(self._folder / draft.name)

    def was_read(self, at: datetime) -> None:
        """Have its batches as old as if their runs had been then."""
        ledger = Ledger(self.layout, FIRST_GENERATION)
        for batch in ledger.batches():
            older = batch.model_copy(update={"committed": at})
            (ledger.folder / f"{batch.batch:06d}.json").write_text(older.content())
