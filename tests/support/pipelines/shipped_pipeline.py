"""A shipped pipeline over a folder of a test's own, and what each batch read, in plain Python.

The watermark is worked out here from the rows, by the rule of the guide: the latest event time of
all batches before, less the delay; of several sources the lowest. None of our code computes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.pipelines.pipeline_folder import STEPS
from tests.support.table_reader import read_rows
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome, Report, Step
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.ledger import Ledger
from tidemill.main import step_function
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = dict[str, Any]


@dataclass(frozen=True)
class Taken:
    """What one batch read.

    Args:
        rows: Source -> its rows.
        late: The watermark of the batch before: what is not after it came too late.
        closed: The batch's own: what ends by then has ended.
    """

    rows: Mapping[str, list[Row]]
    late: datetime
    closed: datetime

    def in_time(self, source: str) -> list[Row]:
        """The rows of a source whose own time is not too late."""
        return [row for row in self.rows[source] if row["at"] > self.late]


@dataclass
class Shipped:
    """A pipeline of this repository.

    Args:
        name: Its name.
        home: An empty directory.
        variable: Where its spec expects the input.
    """

    name: str
    home: Path
    variable: str = "TIDEMILL_INPUT"
    runs: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        (self.home / "root").mkdir()
        for source in self.pipeline.spec.sources.values():
            Path(source.path).mkdir(parents=True, exist_ok=True)

    @property
    def pipeline(self) -> Pipeline:
        own = {"TIDEMILL_ROOT": str(self.home / "root"), self.variable: str(self.home / "input")}
        return open_pipeline(self.name, {**os.environ, **own})

    @property
    def kind(self) -> PipelineClass | None:
        """Its class, as the note of its generation has it."""
        note = read_note(self.pipeline.layout, FIRST_GENERATION)
        assert note is not None
        return note.pipeline_class

    @property
    def input(self) -> Path:
        """Where the generator of its sample writes."""
        return self.home / "input"

    def run(self) -> dict[Step, Report]:
        """The four steps, which are to end well and without a warning."""
        self.runs += 1
        run = RunContext(self.pipeline, f"run-{self.runs}", lambda _: None)
        reports = {step: perform(step, step_function(step), run) for step in STEPS}
        assert {report.outcome for report in reports.values()} == {Outcome.DONE}, reports
        assert reports["gate"].facts["warnings"] == []
        return reports

    def published(self, *columns: str) -> list[tuple[Any, ...]]:
        """Some columns of the published rows, sorted."""
        rows = read_rows(self.pipeline.layout.table)
        return sorted((tuple(row[name] for name in columns) for row in rows), key=repr)

    def rejected(self) -> list[str]:
        """Why rows were rejected, sorted."""
        return sorted(row["reason"] for row in read_rows(self.pipeline.layout.rejected))

    def taken(self, **delays: timedelta) -> Iterator[Taken]:
        """Each batch's rows of JSON, with the times in them.

        Args:
            delays: Source -> how late its rows may come.
        """
        latest = dict.fromkeys(delays, EPOCH)
        late = closed = EPOCH
        for batch in Ledger(self.pipeline.layout, FIRST_GENERATION).batches():
            rows: dict[str, list[Row]] = {source: [] for source in delays}
            for file in batch.inputs:
                rows[file.source] += [
                    _timed(json.loads(line)) for line in file.on_disk.read_text().splitlines()
                ]
            yield Taken(rows, late, closed)
            late = closed
            for source, delay in delays.items():
                seen = (row["at"] - delay for row in rows[source])
                latest[source] = max(latest[source], max(seen, default=EPOCH))
            closed = max(closed, min(latest.values()))
        assert late == closed, "the last batch moved the watermark, and none followed to act on it"


def _timed(row: Row) -> Row:
    return {**row, "at": datetime.fromisoformat(row["at"])}


def windows(at: datetime, size: timedelta, slide: timedelta) -> Iterator[tuple[datetime, datetime]]:
    """The windows that a time falls into, as start and end."""
    start = EPOCH + (at - EPOCH) // slide * slide
    while start + size > at:
        yield start, start + size
        start -= slide
