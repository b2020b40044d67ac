"""A pipeline of any kind under a temporary folder, fed with JSON and run step by step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.pipelines.pipeline_folder import RunnablePipeline
from tests.support.pipelines.user_project import write_pipeline
from tidemill.contract.report import Outcome, Report
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.journal.takeovers import current
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger

# Nothing to say against any rows.
SUITE: dict[str, Any] = {
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {"type": "expect_table_row_count_to_be_between", "kwargs": {"min_value": 1}, "meta": {}}
    ],
}
Row = dict[str, Any]


@dataclass
class JsonPipeline(RunnablePipeline):
    """One pipeline.

    Args:
        home: Gets `project/`, `input/<source>/` and `root/`.
        sources: Source -> its columns, as Spark DDL; files of JSON, one a batch.
        spec: Its further fields, over `sources` where it has them.
        transform: Python code.
        suite: The suite of the gate.
        name: The name of the pipeline.
    """

    home: Path
    sources: Mapping[str, str]
    spec: Mapping[str, Any]
    transform: str
    suite: Mapping[str, Any] = field(default_factory=lambda: SUITE)
    name: str = "flow"

    def __post_init__(self) -> None:
        self.layout.root.mkdir(parents=True, exist_ok=True)
        for source in self.sources:
            (self.home / "input" / source).mkdir(parents=True, exist_ok=True)
        self.write()

    def write(self, transform: str | None = None, **changes: Any) -> None:
        """Write the pipeline's files, with other code or fields of the spec where given."""
        self.transform = self.transform if transform is None else transform
        self.spec = {**self.spec, **changes}
        sources = {name: self._source(name, ddl) for name, ddl in self.sources.items()}
        own = self.spec.get("sources", {})
        merged = {name: {**source, **own.get(name, {})} for name, source in sources.items()}
        write_pipeline(
            self.home / "project",
            self.name,
            {**self.spec, "sources": {**own, **merged}},
            transform=self.transform,
            suite=self.suite,
        )

    def _source(self, name: str, ddl: str) -> Row:
        folder = str(self.home / "input" / name)
        limit = {} if self.spec.get("trigger") == "once" else {"maxFilesPerTrigger": 1}
        return {"kind": "file", "format": "json", "path": folder, "schema": ddl, **limit}

    @property
    def batches(self) -> list[Batch]:
        return Ledger(self.layout, current(self.layout)).batches()

    def arrive(self, source: str, name: str, rows: Iterable[Row]) -> Path:
        """Put a file of JSON lines in place whole; later ones are read later."""
        return self.arrive_text(source, name, [json.dumps(row) for row in rows])

    def arrive_text(self, source: str, name: str, lines: Iterable[str]) -> Path:
        """The same with the lines as they are."""
        draft = self.home / f"{name}.json"
        draft.write_text("".join(f"{line}\n" for line in lines))
        folder = self.folder(source)
        # Spark reads files in the order of their times, of which it sees milliseconds.
        newest = max((path.stat().st_mtime_ns for path in folder.iterdir()), default=0)
        later = max(draft.stat().st_mtime_ns, newest + 2_000_000)
        os.utime(draft, ns=(later, later))
        return draft.replace(folder / draft.name)

    def folder(self, source: str) -> Path:
        """Where a source's files arrive."""
        return self.home / "input" / source

    def go(self, run_id: str) -> Report:
        """A run that is to end well; its last report."""
        reports = self.run(run_id)
        last = [*reports.values()][-1]
        assert last.outcome in (Outcome.DONE, Outcome.SKIPPED), last.error
        return last

    def published(self, *columns: str) -> list[tuple[Any, ...]]:
        """The published rows, sorted; all columns where none are named."""
        if not has_table(self.layout.table):
            return []
        table = open_table(self.layout.table).to_pyarrow_table(columns=list(columns) or None)
        return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)
