"""A pipeline whose root was moved after some of its past."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.support.histories.history_builder import NAME, History
from tests.support.table_reader import Seen
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Report
from tidemill.generations.verify import open_generation
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.relocate import RelocationPlan, relocate
from tidemill.steps.parts.run import perform
from tidemill.steps.publish import publish
from tidemill.storage.folders import rename_folder
from tidemill.storage.run_context import RunContext


@dataclass
class Moved(Seen):
    """A pipeline at another root than the one that its past was written for.

    Args:
        history: The past.
        root: Where the root is now.
    """

    history: History
    root: Path

    @property
    def layout(self) -> Layout:
        return Layout(self.root, NAME)

    @property
    def pipeline(self) -> Pipeline:
        return replace(self.history.pipeline, layout=self.layout)

    @property
    def environ(self) -> dict[str, str]:
        return {**self.history.environ, "TIDEMILL_ROOT": str(self.root)}

    def relocate(self) -> RelocationPlan:
        return relocate(self.pipeline, "relocate")

    def publish(self, run_id: str) -> Report:
        return perform("publish", publish, RunContext(self.pipeline, run_id, lambda _: None))


def move(history: History, name: str = "moved") -> Moved:
    """Move the root beside where it is."""
    to = (history.root.parent if history.bucket else history.home) / name
    rename_folder(history.root, to)
    return Moved(history, to)


def fields_of_entries(sink: Path) -> dict[str, list[dict[str, Any]]]:
    """The fields of every entry of a sink's log, with paths below the sink."""
    entries = {}
    for file in sorted((sink / "_spark_metadata").glob("[0-9]*")):
        version, *lines = file.read_text().split("\n")
        assert version == "v1"
        fields = [json.loads(line) for line in lines]
        for one in fields:
            head, found, one["path"] = one["path"].partition(f"{sink.parent.name}/{sink.name}/")
            assert found
            assert head.startswith(("file:///", "s3a://"))
        entries[file.name] = fields
    return entries


def assert_goes_on(moved: Seen) -> None:
    """Its two batches are read where they are now, and what was still to go out is published."""
    generation = open_generation(moved.pipeline)
    assert (generation.written, generation.ledger.latest()) == (2, 2)
    assert all(file.path.is_file() for file in generation.log.files)
    assert moved.publish("after").outcome is Outcome.DONE
    assert (moved.ids(), moved.records()) == ([1, 2, 3], ["a", "b"])
