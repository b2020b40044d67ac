"""A pipeline per row of the matrix: a source of three words, and a sink that shows them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.pipelines.user_project import write_pipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Report
from tidemill.engine.run.options import RunOptions
from tidemill.ledger.ledger import Ledger
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.stream_trigger import StreamTrigger, parse_trigger
from tidemill.steps.parts.run import perform
from tidemill.steps.stream import stream
from tidemill.storage.run_context import RunContext

NAME = "words"
WORDS = ("anchor", "buoy", "chain")
TRIGGERS = {
    "default": "default",
    "available-now": "available-now",
    "once": "once",
    "continuous": "continuous=1s",
    "real-time": "real-time=5s",
}
SUITE: dict[str, Any] = {
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {"type": "expect_table_row_count_to_be_between", "kwargs": {"min_value": 1}, "meta": {}}
    ],
}
FOREACH = """

def foreach(row):
    import pathlib, uuid
    pathlib.Path({folder!r}, uuid.uuid4().hex).write_text(str(row.word))


def foreach_batch(rows, batch_id):
    rows.select("word").write.mode("append").text({folder!r} + "/batches")
"""


@dataclass(frozen=True)
class Combination:
    """A pipeline of the matrix.

    Args:
        home: An empty folder.
        sources: The sources of its spec.
        trigger: As the matrix names it.
        mode: Output mode; update and complete count the words.
        output: Further fields of `output`.
        sink: The sink of its spec; published to a table where not given.
        publish: Its targets, where they are not the default.
        column: The column of the source, that holds the words.
    """

    home: Path
    sources: dict[str, Any]
    trigger: str
    mode: str = "append"
    output: dict[str, Any] | None = None
    sink: dict[str, Any] | None = None
    publish: list[dict[str, Any]] | None = None
    column: str = "word"

    @property
    def spec(self) -> dict[str, Any]:
        keys = {"keys": ["word"]} if self.mode == "update" and self.sink is None else {}
        return {
            "sources": self.sources,
            "output": {"mode": self.mode, **keys, **(self.output or {})},
            **({"sink": self.sink} if self.sink else {}),
            **({"publish": self.publish} if self.publish else {}),
        }

    @property
    def folder(self) -> Path:
        """What `foreach` and `foreach_batch` write into."""
        return self.home / "written"

    @property
    def stream_trigger(self) -> StreamTrigger:
        return parse_trigger(TRIGGERS[self.trigger])

    @property
    def transform(self) -> str:
        steps = [f"rows.select(rows['{self.column}'].cast('string').alias('word'))"]
        if self.mode != "append" and self.trigger != "real-time":
            steps.append("groupBy('word').count()")
        if self.sink is not None and self.sink["kind"] == "kafka":
            steps.append("selectExpr('word AS value')")
        return f"def transform(rows):\n    return {'.'.join(steps)}\n"

    def open(self) -> Pipeline:
        """Write the pipeline down and load it.

        Raises:
            SpecError: the combination is refused where it is read.
        """
        for folder in (self.folder, self.home / "root"):
            folder.mkdir(parents=True, exist_ok=True)
        code = self.transform + FOREACH.format(folder=str(self.folder))
        if self.sink is None or not self.sink["kind"].startswith("foreach"):
            code = self.transform
        elif self.sink["kind"] == "foreach":
            code = code.partition("\n\ndef foreach_batch")[0] + "\n"
        project = self.home / "project"
        write_pipeline(project, NAME, self.spec, transform=code, suite=SUITE)
        environ = {"TIDEMILL_ROOT": str(self.home / "root"), "TIDEMILL_PROJECTS": str(project)}
        return open_pipeline(NAME, environ)

    def run(self, arrived: Callable[[Pipeline], bool]) -> Report:
        """Run it until its rows have arrived, or to its end where its trigger has one."""
        pipeline = self.open()
        trigger = self.stream_trigger

        def stop() -> str | None:
            if trigger.ends:
                return None
            return "rows arrived" if arrived(pipeline) else None

        run = RunContext(pipeline, "matrix", lambda _: None)
        return perform("ingest", lambda one: stream(one, RunOptions(trigger, stop)), run)


def rows_in_ledger(pipeline: Pipeline) -> int:
    """Rows that the query handed to its sink, by the ledger."""
    return sum(batch.rows for batch in Ledger(pipeline.layout, FIRST_GENERATION).batches())


def kafka_connection(bootstrap: str) -> str:
    """An Airflow connection, as its variable holds it."""
    return json.dumps({"conn_type": "kafka", "extra": {"bootstrap.servers": bootstrap}})
