"""A pipeline's past, written by hand as Spark and our steps would have written it: no JVM.

Batches are real Parquet files under a real sink log and checkpoint, and the ledger writes itself
down from those. Only what would need Spark or Great Expectations is made up.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pyarrow as pa
from deltalake import Schema

from tests.support.histories.spark_batch_builder import plan, write_files, write_to_sink_log
from tests.support.histories.spark_log_builder import write_commit, write_metadata
from tests.support.pipelines.pipeline_folder import PipelineFolder
from tests.support.sample_rows import BY_DAY, COLUMNS, Row, reject, row, rows
from tests.support.table_reader import Seen, read_rows, tree
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.objects.object_path import path_of
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.project import Project
from tidemill.contract.report import Report
from tidemill.increments.increments import Increments, Release, Sealed, Verdict
from tidemill.increments.judgement import ExpectationOutcome, Judgement
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Event, Journal
from tidemill.ledger.batch import RowsPerRow
from tidemill.ledger.generation_note import GenerationNote, hash_of_spec, keys_of, writes_of
from tidemill.ledger.input_file import hashed_sources
from tidemill.ledger.ledger import Ledger, Start
from tidemill.ledger.run_increment import remember
from tidemill.publish.outgoing_event import Outgoing
from tidemill.publish.payload import Payload
from tidemill.sources.files.clean_source import cleaned_objects, cleaned_sources
from tidemill.spec.load import load_spec
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.parts.run import perform
from tidemill.steps.parts.seal import seal
from tidemill.steps.publish import publish
from tidemill.storage import documents
from tidemill.storage.lease import Lease, hold, newest_epoch
from tidemill.storage.run_context import RunContext

__all__ = ["BY_DAY", "COLUMNS", "NAME", "History", "read_rows", "reject", "row", "rows", "tree"]

NAME = "orders"

SPEC = """\
sources:
  orders: {{kind: file, format: csv, path: {inputs}, schema: "id long, at timestamp"{source}}}
event_time: {{column: at}}
output: {{partition_by: {partition_by}{output}}}
{more}
"""


def _reasons(failed: Sequence[ExpectationOutcome]) -> tuple[str, ...]:
    return tuple(one.sentence for one in failed) or ("bad",)


@dataclass
class History(PipelineFolder, Seen):
    """One pipeline under a root of its own.

    Args:
        home: An empty directory.
        columns: The columns of the transform's result, without partitions.
        partitions: Partition column -> type; none means a sink without partitions of its own.
        more: Text at the end of the spec.
        source: Text at the end of the source, such as `, maxFileAge: 1 day`.
        output: Text at the end of the output, such as `, keys: [id]`.
        pipeline_class: As the note of its generation has it.
        rows_per_row: As its starts have it.
        bucket: The URL of the root, where that is in an object store.
    """

    home: Path
    columns: pa.Schema = COLUMNS
    partitions: Mapping[str, pa.DataType] = field(default_factory=lambda: BY_DAY)
    more: str = ""
    source: str = ""
    output: str = ""
    pipeline_class: PipelineClass = PipelineClass.MAP
    rows_per_row: RowsPerRow = "any"
    bucket: str | None = None
    run_number: int = 0
    name = NAME

    def __post_init__(self) -> None:
        self.project.specs.mkdir(parents=True, exist_ok=True)
        self.inputs.mkdir(exist_ok=True)
        self.root.mkdir(exist_ok=True)
        self.write_spec()

    # -- where it is ------------------------------------------------------------------------

    @property
    def project(self) -> Project:
        return Project(self.home / "project")

    @property
    def root(self) -> Path:
        return path_of(self.bucket) if self.bucket else super().root

    @property
    def inputs(self) -> Path:
        return self.home / "in"

    @property
    def sink(self) -> Path:
        return self.layout.sink(FIRST_GENERATION)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.layout, FIRST_GENERATION)

    @property
    def increments(self) -> Increments:
        return Increments(self.layout.increments)

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.layout)

    @property
    def journal(self) -> Journal:
        return Journal(self.layout.journal)

    @property
    def environ(self) -> dict[str, str]:
        """The variables with which a process of its own finds this pipeline."""
        return {
            "TIDEMILL_ROOT": str(self.root),
            "TIDEMILL_PROJECTS": str(self.project.home),
        }

    @property
    def pipeline(self) -> Pipeline:
        return Pipeline(
            self.name, load_spec(self.project.spec(self.name), {}), self.project, self.layout
        )

    def write_spec(self, **changes: str) -> None:
        """Write the spec, with other texts for the names in `SPEC`."""
        given = {
            "inputs": str(self.inputs),
            "source": self.source,
            "output": self.output,
            "partition_by": json.dumps({name: f"expr({name})" for name in self.partitions}),
            "more": self.more,
            **changes,
        }
        self.project.spec(self.name).write_text(SPEC.format(**given))

    # -- what Spark did -----------------------------------------------------------------------

    def arrive(self, name: str, content: str = "id,at\n", *, at: datetime | None = None) -> Path:
        """An input file, as old as it is told to be."""
        path = self.inputs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        if at is not None:
            os.utime(path, (at.timestamp(), at.timestamp()))
        return path

    def start(self, columns: pa.Schema | None = None) -> int:
        """Start a query, with other columns than before; its epoch is returned."""
        self.columns = columns or self.columns
        fields = [*self.columns, *(pa.field(name, kind) for name, kind in self.partitions.items())]
        schema = json.loads(Schema.from_arrow(pa.schema(fields)).to_json())
        spec = self.pipeline.spec
        note = GenerationNote(
            generation=FIRST_GENERATION,
            query_id="86022cb6",
            checkpoint=self.checkpoint,
            sink=self.sink,
            writes=writes_of(spec),
            format=spec.output.format,
            mode=spec.output.mode,
            keys=keys_of(spec),
            pipeline_class=self.pipeline_class,
            table_schema=schema,
            partition_by=spec.output.partition_by,
            timezone=spec.timezone,
            spec_hash=hash_of_spec(spec),
            code_hash="code",
            born=datetime.now(UTC),
        )
        documents.put_if_absent(self.layout.note(FIRST_GENERATION), note)
        if not (self.checkpoint / "metadata").exists():
            write_metadata(self.checkpoint, note.query_id)
        with hold(self.layout.lease, step="ingest", run_id="ingest") as lease:
            self.ledger.start(
                Start(
                    epoch=lease.epoch,
                    run_id="ingest",
                    spec_hash=note.spec_hash,
                    code_hash="code",
                    table_schema=schema,
                    last_written=self.written,
                    at=datetime.now(UTC),
                    hashed_sources=hashed_sources(spec),
                    cleaned_sources=cleaned_sources(spec),
                    cleaned_objects=cleaned_objects(spec),
                    rows_per_row=self.rows_per_row,
                )
            )
        return lease.epoch

    @property
    def written(self) -> int:
        """The last batch in the sink's log, -1 for none."""
        log = self.sink / "_spark_metadata"
        names = (path.name for path in log.iterdir()) if log.is_dir() else ()
        return max((int(name) for name in names if name.isdecimal()), default=-1)

    def batch(
        self,
        good: Iterable[Row] = (),
        rejected: Iterable[Row] = (),
        *,
        commit: bool = True,
        inputs: Sequence[Path] | None = None,
    ) -> int:
        """A batch that Spark committed and, unless told otherwise, the ledger wrote down."""
        if not self.ledger.starts():
            self.start()
        number = self.written + 1
        if inputs is None:
            inputs = [self.arrive(f"f{number:04d}.csv")]
        plan(self.checkpoint, number, inputs)
        self.write(number, good, rejected)
        if commit:
            write_commit(self.checkpoint, number)
            self.ledger.complete()
        return number

    def write(self, number: int, good: Iterable[Row], rejected: Iterable[Row]) -> None:
        """What the sink does with a batch before it is committed."""
        files = write_files(self.sink, number, self.columns, self.partitions, good, rejected)
        write_to_sink_log(self.sink, number, files)

    def files(self, batch: int) -> list[Path]:
        (found,) = self.ledger.batches(batch, batch)
        return [self.sink / file.path for file in found.outputs]

    def payload(self, event: Event) -> Payload:
        """The good rows of an event, as every target gets them."""
        return Outgoing(self.pipeline, event, newest_epoch(self.layout.lease)).payload

    # -- what our steps and people did --------------------------------------------------------

    def seal(self, run_id: str | None = None) -> Sealed:
        """Seal everything committed and not yet sealed."""
        run_id = run_id or f"run-{max(self.increments.numbers(), default=0) + 1}"
        lease = Lease(self.layout.lease, newest_epoch(self.layout.lease))
        run = RunContext(self.pipeline, run_id, lambda _: None).holding(lease)
        number = seal(run, self.snapshot)
        assert number is not None
        remember(self.layout.run(run_id), number)
        return self.snapshot.get(number).sealed

    def judge(
        self,
        number: int,
        outcome: Literal["passed", "held"] = "passed",
        judged: datetime | None = None,
        judgement: Judgement | None = None,
    ) -> None:
        failed = () if judgement is None else judgement.failed_critical
        self.increments.judge(
            Verdict(
                increment=number,
                outcome=outcome,
                files_hash=self.snapshot.get(number).sealed.files_hash,
                suite_hash="suite",
                gate_hash="gate",
                engine="in_process",
                why="small",
                reasons=() if outcome == "passed" else _reasons(failed),
                judgement={} if judgement is None else judgement.model_dump(mode="json"),
                run_id=f"run-{number}",
                judged=judged or datetime.now(UTC),
                epoch=newest_epoch(self.layout.lease),
            )
        )

    def increment(
        self,
        good: Iterable[Row] = (),
        rejected: Iterable[Row] = (),
        outcome: Literal["passed", "held"] = "passed",
    ) -> int:
        """A batch that was sealed and judged; the increment's number is returned."""
        self.batch(good, rejected)
        sealed = self.seal()
        self.judge(sealed.increment, outcome)
        return sealed.increment

    def release(self, number: int, by: str = "ann", reason: str = "known") -> None:
        sealed = self.snapshot.get(number).sealed
        self.increments.decide(
            Release(
                increment=number,
                files_hash=sealed.files_hash,
                by=by,
                reason=reason,
                released=datetime.now(UTC),
            )
        )

    def run(self, run_id: str | None = None) -> RunContext:
        self.run_number += 1
        return RunContext(self.pipeline, run_id or f"publish-{self.run_number}", lambda _: None)

    def publish(self, run_id: str | None = None) -> Report:
        return perform("publish", publish, self.run(run_id))
