"""A pipeline's past, written by hand as Spark and our steps would have written it: no JVM.

Batches are real Parquet files under a real sink log and checkpoint, and the ledger writes itself
down from those. Only what would need Spark or Great Expectations is made up.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema

from spark_jobs.contract.layout import FIRST_GENERATION, Layout
from spark_jobs.contract.load import load_spec
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.project import Project
from spark_jobs.contract.report import Report
from spark_jobs.ledger import documents
from spark_jobs.ledger.batches import Batch, Ledger, Start
from spark_jobs.ledger.increments import Increments, Release, Sealed, Verdict, hash_of_files
from spark_jobs.ledger.journal import Journal
from spark_jobs.ledger.lease import hold
from spark_jobs.ledger.note import Note, hash_of_spec
from spark_jobs.ledger.published import open_dataset
from spark_jobs.ledger.run_increment import remember
from spark_jobs.steps.publish import publish
from spark_jobs.steps.step import Run, perform
from tests.ledger.spark_logs import (
    uri,
    write_commit,
    write_metadata,
    write_offsets,
    write_source_entry,
)

NAME = "orders"
Row = Mapping[str, Any]

COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("amount", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("text", pa.string()),
    ]
)
BY_DAY = {"day": pa.date32()}
REJECT = pa.struct(
    [
        ("reason", pa.string()),
        ("file", pa.string()),
        ("record", pa.string()),
        ("partition", pa.map_(pa.string(), pa.string())),
    ]
)
# What Spark escapes in the name of a partition's directory (`ExternalCatalogUtils`).
ESCAPED = {*map(chr, range(1, 32)), *"\"#%'*/:=?\\{[]^\x7f"}

SPEC = """\
sources:
  orders: {{kind: file, format: csv, path: {inputs}, schema: "id long, at timestamp"{source}}}
event_time: {{column: at}}
output: {{partition_by: {partition_by}}}
{more}
"""


def row(number: int, day: date | None = date(2024, 1, 1), **changes: Any) -> dict[str, Any]:
    """A row of the default columns that tells itself apart by its number."""
    return {
        "id": number,
        "amount": Decimal(number) + Decimal("0.25"),
        "at": datetime(2024, 1, 1, 12, tzinfo=UTC),
        "text": f"row {number}",
        "day": day,
        **changes,
    }


def rows(*numbers: int, **changes: Any) -> list[dict[str, Any]]:
    return [row(number, **changes) for number in numbers]


def reject(record: str, reason: str = "malformed", **partition: str) -> dict[str, Any]:
    """A rejected row."""
    said = {"reason": reason, "file": "file:///in/x.csv", "record": record}
    return {**said, "partition": list(partition.items())}


@dataclass
class History:
    """One pipeline under a root of its own.

    Args:
        home: An empty directory.
        columns: Of the transform's result, without partitions.
        partitions: Partition column -> type; none means a sink without partitions of its own.
        more: Text at the end of the spec.
        source: Text at the end of the source, such as `, maxFileAge: 1 day`.
    """

    home: Path
    columns: pa.Schema = COLUMNS
    partitions: Mapping[str, pa.DataType] = field(default_factory=lambda: BY_DAY)
    more: str = ""
    source: str = ""
    run_number: int = 0

    def __post_init__(self) -> None:
        self.project.specs.mkdir(parents=True, exist_ok=True)
        self.inputs.mkdir(exist_ok=True)
        self.root.mkdir(exist_ok=True)
        self.write_spec()

    # -- where it lies ------------------------------------------------------------------------

    @property
    def project(self) -> Project:
        return Project(self.home / "project")

    @property
    def inputs(self) -> Path:
        return self.home / "in"

    @property
    def root(self) -> Path:
        return self.home / "root"

    @property
    def layout(self) -> Layout:
        return Layout(self.root, NAME)

    @property
    def sink(self) -> Path:
        return self.layout.sink(FIRST_GENERATION)

    @property
    def checkpoint(self) -> Path:
        return self.layout.checkpoint(FIRST_GENERATION)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.layout, FIRST_GENERATION)

    @property
    def increments(self) -> Increments:
        return Increments(self.layout.increments)

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
        return Pipeline(NAME, load_spec(self.project.spec(NAME), {}), self.project, self.layout)

    def write_spec(self, **changes: str) -> None:
        """Write the spec, with other texts for the names in `SPEC`."""
        given = {
            "inputs": str(self.inputs),
            "source": self.source,
            "partition_by": json.dumps({name: f"expr({name})" for name in self.partitions}),
            "more": self.more,
            **changes,
        }
        self.project.spec(NAME).write_text(SPEC.format(**given))

    # -- what Spark did -----------------------------------------------------------------------

    def arrive(self, name: str, content: str = "id,at\n", *, at: datetime | None = None) -> Path:
        """An input file, as old as it is told to be."""
        path = self.inputs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        if at is not None:
            os.utime(path, (at.timestamp(), at.timestamp()))
        return path

    def start(self, columns: pa.Schema | None = None, partitions: Sequence[str] = ()) -> int:
        """Start a query, with other columns than before; its epoch is returned."""
        self.columns = columns or self.columns
        fields = [*self.columns, *(pa.field(name, kind) for name, kind in self.partitions.items())]
        schema = json.loads(Schema.from_arrow(pa.schema(fields)).to_json())
        spec = self.pipeline.spec
        note = Note(
            generation=FIRST_GENERATION,
            query_id="86022cb6",
            checkpoint=self.checkpoint,
            sink=self.sink,
            table_schema=schema,
            partition_by=spec.output.partition_by,
            event_time=spec.event_time.column,
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
                    produced=self.written,
                    at=datetime.now(UTC),
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
        self._plan(number, inputs)
        self._sink_entry(number, self._write(number, good, rejected))
        if commit:
            write_commit(self.checkpoint, number)
            self.ledger.complete()
        return number

    def _plan(self, number: int, inputs: Sequence[Path]) -> None:
        log = self.checkpoint / "sources" / "0"
        offset = max((int(p.name) for p in log.glob("*") if p.name.isdecimal()), default=-1)
        # Spark writes no entry for a batch without input, and repeats the offset before it.
        if inputs:
            offset += 1
            write_source_entry(self.checkpoint, offset, {str(path): offset for path in inputs})
            entry = log / str(offset)
            lines = entry.read_text().split("\n")
            stamped = [
                json.dumps({**json.loads(line), "timestamp": path.stat().st_mtime_ns // 1_000_000})
                for line, path in zip(lines[1:], inputs, strict=True)
            ]
            entry.write_text("\n".join([lines[0], *stamped]))
        write_offsets(self.checkpoint, number, offset if offset >= 0 else None)

    def _write(self, number: int, good: Iterable[Row], rejected: Iterable[Row]) -> list[Path]:
        groups: dict[Path, list[Row]] = defaultdict(list)
        for one in good:
            values = {name: one[name] for name in self.partitions}
            groups[self.directory(values or {"_rejected": "false"})].append(one)
        nothing = dict.fromkeys(self.partitions) if self.partitions else {"_rejected": "true"}
        for one in rejected:
            groups[self.directory(nothing)].append({"_reject": one})
        written = []
        for place, (directory, members) in enumerate(groups.items()):
            path = directory / f"part-{place:05d}-{number:04d}.snappy.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            schema = self.columns.append(pa.field("_reject", REJECT))
            known = [{name: one.get(name) for name in schema.names} for one in members]
            pq.write_table(pa.Table.from_pylist(known, schema), path)
            written.append(path)
        return written

    def directory(self, values: Mapping[str, Any]) -> Path:
        """The directory of a partition, named as Spark names it."""
        path = self.sink
        for name, value in values.items():
            text = "__HIVE_DEFAULT_PARTITION__"
            if value is not None and value != "":
                text = "".join(f"%{ord(c):02X}" if c in ESCAPED else c for c in _text(value))
            path /= f"{name}={text}"
        return path

    def _sink_entry(self, number: int, files: Iterable[Path]) -> None:
        entry = self.sink / "_spark_metadata" / str(number)
        entry.parent.mkdir(parents=True, exist_ok=True)
        lines = [
            json.dumps(
                {
                    "path": uri(path),
                    "size": path.stat().st_size,
                    "isDir": False,
                    "modificationTime": path.stat().st_mtime_ns // 1_000_000,
                    "blockReplication": 1,
                    "blockSize": 33_554_432,
                    "action": "add",
                }
            )
            for path in files
        ]
        entry.write_text("\n".join(["v1", *lines]))

    def files(self, batch: int) -> list[Path]:
        (found,) = self.ledger.batches(batch, batch)
        return [self.sink / file.path for file in found.outputs]

    # -- what our steps and people did --------------------------------------------------------

    def seal(self, run_id: str | None = None) -> Sealed:
        """Seal everything committed and not yet sealed."""
        batches = self.ledger.batches(first=self.increments.last_sealed(FIRST_GENERATION) + 1)
        number = max(self.increments.numbers(), default=0) + 1
        sealed = _sealed(number, batches, run_id or f"run-{number}")
        assert self.increments.seal(sealed)
        remember(self.layout.run(sealed.run_id), number)
        return sealed

    def judge(
        self,
        number: int,
        outcome: Literal["passed", "held"] = "passed",
        judged: datetime | None = None,
    ) -> None:
        self.increments.judge(
            Verdict(
                increment=number,
                outcome=outcome,
                files_hash=self.increments.get(number).sealed.files_hash,
                suite_hash="suite",
                gate_hash="gate",
                engine="in_process",
                why="small",
                reasons=() if outcome == "passed" else ("bad",),
                run_id=f"run-{number}",
                judged=judged or datetime.now(UTC),
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
        sealed = self.increments.get(number).sealed
        assert self.increments.decide(
            Release(
                increment=number,
                files_hash=sealed.files_hash,
                by=by,
                reason=reason,
                released=datetime.now(UTC),
            )
        )

    def run(self, run_id: str | None = None) -> Run:
        self.run_number += 1
        return Run(self.pipeline, run_id or f"publish-{self.run_number}", lambda _: None)

    def publish(self, run_id: str | None = None) -> Report:
        return perform("publish", publish, self.run(run_id))

    # -- what consumers see -------------------------------------------------------------------

    def published(self) -> list[dict[str, Any]]:
        return read_rows(self.layout.table)

    def ids(self) -> list[int]:
        return sorted(one["id"] for one in self.published())

    def rejected(self) -> list[dict[str, Any]]:
        return read_rows(self.layout.rejected)

    def records(self) -> list[str]:
        return sorted(one["record"] for one in self.rejected())

    def delta(self, version: int | None = None) -> DeltaTable:
        return DeltaTable(self.layout.table, version=version)

    def log(self, table: Path | None = None) -> list[str]:
        """The names of the commits of a Delta table, the good one by default."""
        folder = (table or self.layout.table) / "_delta_log"
        return sorted(path.name for path in folder.glob("*.json")) if folder.is_dir() else []


def read_rows(table: Path) -> list[dict[str, Any]]:
    """All rows of a Delta table; none where there is no table."""
    if not DeltaTable.is_deltatable(str(table)):
        return []
    found: list[dict[str, Any]] = open_dataset(table).to_table().to_pylist()
    return found


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Every path below a folder with its size and time: what a reader must leave as it is."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _sealed(number: int, batches: Sequence[Batch], run_id: str) -> Sealed:
    return Sealed(
        increment=number,
        generation=FIRST_GENERATION,
        first=batches[0].batch,
        last=batches[-1].batch,
        files=sum(len(batch.outputs) for batch in batches),
        files_hash=hash_of_files(batches),
        rows=sum(batch.rows for batch in batches),
        rejected=sum(batch.rejected for batch in batches),
        run_id=run_id,
        sealed=datetime.now(UTC),
    )


def _text(value: Any) -> str:
    """A partition value as Spark prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)
