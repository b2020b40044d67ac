"""The offsets from which a Kafka source's first batch reads, in a file that Spark reads too."""

import json
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.spark_logs.metadata_log import torn
from tidemill.spark_logs.offset_ranges import as_offsets
from tidemill.spec.sources.kafka import Offsets
from tidemill.storage.folders import whole_file


def initial_offsets_file(layout: Layout, generation: str, source: str) -> Path:
    """The file in which Spark records where a source's first batch begins."""
    return layout.checkpoint(generation) / "sources" / source / "0"


def put_initial_offsets(file: Path, offsets: Offsets) -> bool:
    """Note for Spark where a source begins, unless that is noted; under the lease.

    Args:
        offsets: Topic -> partition -> offset.
    """
    if file.exists():
        return False
    named = {t: {str(n): offset for n, offset in ends.items()} for t, ends in offsets.items()}
    with whole_file(file) as draft:
        draft.write_text(f"\0v1\n{json.dumps(named, separators=(',', ':'))}", encoding="utf-8")
    return True


def read_initial_offsets(file: Path) -> Offsets | None:
    """The recorded offsets; None if there are none yet.

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
