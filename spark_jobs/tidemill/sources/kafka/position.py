"""Where a Kafka source will read on, as Spark's checkpoint and our ledger say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.sink_reader import read_committed
from tidemill.spark_logs.checkpoint import read_checkpoint
from tidemill.spark_logs.metadata_log import torn
from tidemill.spark_logs.offset_ranges import as_offsets
from tidemill.spec.sources.kafka import Offsets


@dataclass(frozen=True)
class Position:
    """The offsets after what was read.

    Args:
        offsets: Topic -> partition -> offset.
        batch: The batch they come from; None where a first query noted where it begins, and has
            read nothing yet.
    """

    offsets: Offsets
    batch: int | None


def position_of(
    layout: Layout, generation: str, source: str, batches: Sequence[Batch]
) -> Position | None:
    """Where a source reads on; None where nothing says so yet but the spec.

    Args:
        layout: Of the pipeline.
        generation: Such as `live-0001`.
        source: Its name in the spec.
        batches: All of the generation, in order.
    """
    checkpoint = read_checkpoint(layout.checkpoint(generation))
    log = read_committed(read_note(layout, generation), layout.sink(generation))
    # A batch that the sink holds is never read again, even if its commit is still missing.
    written = -1 if log.latest is None else log.latest
    known = batches[-1].batch if batches else -1
    last = max(known, written, max(checkpoint.commits, default=-1))
    found = None
    if last in checkpoint.offsets:
        found = checkpoint.offsets[last].sources.get(source)
    elif last == known and batches:
        found = batches[-1].offsets.get(source)
    if found:
        return Position(as_offsets(found), last)
    file = initial_offsets_file(layout, generation, source)
    noted = read_initial_offsets(file)
    return None if noted is None else Position(noted, None)


def initial_offsets_file(layout: Layout, generation: str, source: str) -> Path:
    """Where Spark notes, before a source's first batch, where that begins."""
    return layout.checkpoint(generation) / "sources" / source / "0"


def put_initial_offsets(file: Path, offsets: Offsets) -> bool:
    """Note for Spark where a source begins, unless that is noted; under the lease.

    Args:
        file: From `initial_offsets_file`.
        offsets: Topic -> partition -> offset.
    """
    if file.exists():
        return False
    named = {t: {str(n): offset for n, offset in ends.items()} for t, ends in offsets.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(".0.tidemill")
    draft.write_text(f"\0v1\n{json.dumps(named, separators=(',', ':'))}", encoding="utf-8")
    draft.replace(file)
    return True


def read_initial_offsets(file: Path) -> Offsets | None:
    """What Spark noted; None where it has not yet.

    Raises:
        TornLogEntry: the file is empty or cut off.
    """
    try:
        # A zero byte stands before the version, for Spark 2.1 (KafkaSourceInitialOffsetWriter).
        version, _, text = file.read_bytes().removeprefix(b"\0").decode().partition("\n")
    except FileNotFoundError:
        return None
    try:
        if version != "v1":
            raise ValueError(version)
        return as_offsets(json.loads(text))
    except ValueError as error:
        raise torn(
            file, 0, "it holds no offsets", f"If no batch was committed yet, delete {file}."
        ) from error
