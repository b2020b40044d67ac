"""The note of a generation, which binds its checkpoint to its sink directory and spec.

Without it Spark loses rows in silence: a new checkpoint on an old sink directory skips every batch
that the sink's log already names (failure-modes rows 3 to 7).
"""

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from tidemill.contract.document import Document
from tidemill.contract.helper_modules import helper_files
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import RecordedPath
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.ledger.windows import Windows
from tidemill.spec.formats.table import OutputFormat
from tidemill.spec.output import NullPartition, OutputMode
from tidemill.spec.spec import Spec
from tidemill.storage import documents

Writes = Literal["files", "attempts", "nothing"]


class GenerationNote(Document):
    """Written once, when a generation is born.

    Attributes:
        generation: `live-0001`.
        query_id: The id in the checkpoint's `metadata`.
        sink: The sink directory that belongs to it; Spark's log holds absolute paths.
        writes: What its batches leave there: files of Spark's file sink, attempts with a manifest
            (modes without a file sink), or nothing (a sink of Spark's own).
        keys: In mode `update` the columns that tell its rows apart.
        continuous: Whether its batches are the epochs of a continuous query.
        shuffle_partitions: The number of partitions of a query's state. Offset logs of version 2
            that Spark 4.2.0 wrote do not hold it, and with another number state would be lost.
        pipeline_class: How its rows depend on its batches.
        windows: The windows of its result; None where they are not known.
        table_schema: The published columns with partitions last, as Spark's JSON schema.
        partition_by: Partition column -> expression over the source row.
        null_partition: What becomes of rows whose partition value is null.
        timezone: In which partition expressions cut dates.
        born: UTC.
        root: The identity of the root that it was born in (`ledger.root_identity`).
    """

    generation: str
    query_id: str
    checkpoint: RecordedPath
    sink: RecordedPath
    writes: Writes = "files"
    format: OutputFormat = "parquet"
    mode: OutputMode = OutputMode.APPEND
    keys: tuple[str, ...] = ()
    continuous: bool = False
    shuffle_partitions: int | None = None
    pipeline_class: PipelineClass = PipelineClass.MAP
    windows: tuple[Windows, ...] | None = None
    table_schema: dict[str, Any]
    partition_by: dict[str, str]
    null_partition: NullPartition = "reject"
    timezone: str
    spec_hash: str
    code_hash: str
    born: datetime
    root: str | None = None


def read_note(layout: Layout, generation: str) -> GenerationNote | None:
    return documents.read(layout.note(generation), GenerationNote)


def writes_of(spec: Spec) -> Writes:
    """The kind of files that a query of this spec leaves in its sink directory."""
    if not spec.published:
        return "nothing"
    return "files" if spec.output.mode is OutputMode.APPEND else "attempts"


def keys_of(spec: Spec) -> tuple[str, ...]:
    """The keys that must not change over the life of a generation: what a row replaces."""
    return spec.output.keys if spec.output.mode is OutputMode.UPDATE else ()


def hash_of_spec(spec: Spec) -> str:
    """The hash of what the spec means, not of how the file is laid out."""
    text = json.dumps(spec.model_dump(mode="json", by_alias=True), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def hash_of_file(path: Path) -> str:
    """The hash of a file of code, together with the modules beside it that it imports."""
    whole = hashlib.sha256(path.read_bytes())
    for name, helper in helper_files(path).items():
        whole.update(f"\0{name}\0".encode() + helper.read_bytes())
    return whole.hexdigest()
