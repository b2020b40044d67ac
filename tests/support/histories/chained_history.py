"""A pipeline that reads another one's table: all is real but Spark, whose part is played.

The table is read by the reader that Spark would call, and what is due is found, asked for, sealed
and published by our steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.histories.generation_builder import made_again
from tests.support.histories.history_builder import History
from tests.support.histories.spark_log_builder import write_commit, write_json_offsets
from tests.support.sample_rows import Row
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.data_sources.subject import struct_of
from tidemill.engine.sources.published_table import Files, PublishedTable, by_task
from tidemill.file_formats.delta_changes import files_standing, table_head
from tidemill.increments.increment import State
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import BatchRange
from tidemill.ledger.ranges_read import RangesRead
from tidemill.ledger.run_request import RunRequest, read_request
from tidemill.ledger.source_record import bind_sources
from tidemill.sources.due import Due
from tidemill.sources.probe import due_of
from tidemill.spark_logs.offset_ranges import joined
from tidemill.steps.decisions.recomputed import describe
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform

ORDERS = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
SPEC = """\
sources:
  orders: {{kind: table, pipeline: {upstream}, schema: "{ddl}", swapped: {swapped}}}
event_time: {{column: at}}
output: {{partition_by: {partition_by}}}
wake: {{tables: {{}}}}
"""
# Where a run may be stopped, in order.
POINTS = ("asked", "computed", "published")


class Stopped(Exception):
    """A run was stopped at a point."""


@dataclass
class ChainedHistory(History):
    """One pipeline of a chain.

    Args:
        name: The pipeline's name.
        upstream: The pipeline whose table it reads.
        partition_by: Partition column -> expression, one.
        ddl: The columns that it reads.
        transform: A row that it reads -> a row of its table with its partition, or None.
        swapped: As the spec has it.
        files_per_batch: The limit of its batches.
    """

    columns: pa.Schema = field(default_factory=lambda: ORDERS)
    name: str = "second"
    upstream: str = "orders"
    partition_by: Mapping[str, str] = field(default_factory=lambda: {"on_day": "to_date(at)"})
    ddl: str = "id long, at timestamp, day date"
    transform: Callable[[Row], Row | None] = lambda row: row
    swapped: str = "follow"
    files_per_batch: int = 1000

    def __post_init__(self) -> None:
        self.partitions = dict.fromkeys(self.partition_by, pa.date32())
        super().__post_init__()
        path = self.project.transform(self.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def transform(orders):\n    return orders\n")

    @property
    def table(self) -> Path:
        """The table that it reads."""
        return Layout(self.root, self.upstream).table

    def write_spec(self, **changes: str) -> None:
        given = {
            "upstream": self.upstream,
            "ddl": self.ddl,
            "swapped": self.swapped,
            "partition_by": json.dumps(self.partition_by),
            **changes,
        }
        self.project.spec(self.name).write_text(SPEC.format(**given))

    def start(self, columns: pa.Schema | None = None) -> int:
        epoch = super().start(columns)
        bind_sources(self.layout, self.ledger.generation, self.pipeline.spec)
        return epoch

    def due(self) -> list[Due]:
        return due_of(self.pipeline, self.snapshot)

    def turn(self, run_id: str | None = None, *, stop_at: str = "") -> bool:
        """One run; whether it had anything to do.

        Args:
            run_id: The id of an earlier run that is tried again.
            stop_at: One of `POINTS`, at which the run ends as if it were killed.

        Raises:
            Stopped: it has come there.
        """
        run = self.run(run_id)
        report = perform("doctor", doctor, run)
        assert report.outcome in (Outcome.DONE, Outcome.SKIPPED), report.error
        if report.outcome is Outcome.SKIPPED:
            return False
        self._pass(stop_at, "asked")
        request = read_request(self.layout.run(run.run_id))
        if request.role == "backfill":
            if "increment" not in report.facts:
                self.recompute(request, run.run_id)
        elif any(one["kind"] == "ingest" for one in report.facts["work"]):
            self.take_in()
            self.seal(run.run_id)
        for number in self.awaits_verdict():
            self.judge(number)
        self._pass(stop_at, "computed")
        assert self.publish(run.run_id).outcome is Outcome.DONE
        self._pass(stop_at, "published")
        return True

    def take_in(self) -> None:
        """A batch of what the table has added; a next one is for the next run."""
        if not self.ledger.starts():
            self.start()
        read = self.ledger.batches()
        start = read[-1].offsets["orders"] if read else {}
        limits = json.dumps({"files": self.files_per_batch, "bytes": None})
        options = {"path": str(self.table), "held_swaps": "null", "limits": limits}
        reader = PublishedTable(options).streamReader(struct_of(self.ddl))
        end = reader.latestOffset(start, reader.getDefaultReadLimit())
        number = self.written + 1
        write_json_offsets(self.checkpoint, number, orders=end)
        self.write(number, self._of(reader.partitions(start, end)), ())
        write_commit(self.checkpoint, number)
        self.ledger.complete()

    def recompute(self, request: RunRequest, run_id: str) -> int:
        """A backfill, up to its verdict; its increment."""
        columns = tuple(request.partitions[0])
        values = tuple(tuple(str(one[name]) for name in columns) for one in request.partitions)
        partitions = Partitions(columns=columns, values=values if columns else ())
        snapshot = self.snapshot
        last = snapshot.last_published(snapshot.generation)
        batches = BatchRange(generation=snapshot.generation, first=0, last=last)
        recomputation = describe(
            self.pipeline, request, "backfill", batches, snapshot.last_seq, partitions=partitions
        )
        (partition,) = self.partition_by
        good = [
            row for row in self._standing(last) if partitions.hold({partition: str(row[partition])})
        ]
        described = recomputation.model_dump(exclude={"kind"})
        return made_again(self, good, run_id=run_id, **described)

    def _standing(self, last: int) -> Iterable[Row]:
        """The rows of published batches as swaps have left them."""
        records, before, ranges = RangesRead(self.ledger), None, []
        for batch in self.ledger.batches(last=last):
            ranges += records.read_by(batch, before).get("orders", ())
            before = batch
        head = table_head(self.table)
        assert head is not None
        spans = [(one.first, one.until) for one in joined(ranges)]
        return self._of([Files(some) for some in by_task(files_standing(self.table, head, spans))])

    def _of(self, parts: Iterable[Any]) -> list[Row]:
        """What the transform makes of files."""
        options = {"path": str(self.table), "files": "[]"}
        reader = PublishedTable(options).reader(struct_of(self.ddl))
        rows = (row for part in parts for some in reader.read(part) for row in some.to_pylist())
        made = map(self.transform, rows)
        return [one for one in made if one is not None]

    def awaits_verdict(self) -> Iterator[int]:
        """The increments that a run left before their verdict."""
        yield from (one.number for one in self.snapshot.increments if one.state is State.SEALED)

    def _pass(self, stop_at: str, point: str) -> None:
        if stop_at == point:
            raise Stopped(point)
