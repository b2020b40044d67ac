"""The generation's note: what binds a checkpoint to its sink directory and to the spec.

Without it Spark loses rows in silence: a new checkpoint on an old sink directory skips every batch
that the sink's log already names (failure-modes rows 3 to 7).
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from spark_jobs.contract.layout import Layout
from spark_jobs.contract.spec import Spec
from spark_jobs.ledger import documents


class Note(BaseModel):
    """Written once, when a generation is born.

    Attributes:
        generation: `live-0001`.
        query_id: The id in the checkpoint's `metadata`.
        checkpoint: Its directory.
        sink: The sink directory that belongs to it; Spark's log holds absolute paths.
        table_schema: The published columns with partitions last, as Spark's JSON schema.
        partition_by: Partition column -> expression over the source row.
        event_time: The source column.
        timezone: In which partition expressions cut dates.
        spec_hash: Of the whole spec.
        code_hash: Of the transform's file.
        born: UTC.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    generation: str
    query_id: str
    checkpoint: Path
    sink: Path
    table_schema: dict[str, Any]
    partition_by: dict[str, str]
    event_time: str
    timezone: str
    spec_hash: str
    code_hash: str
    born: datetime


def read_note(layout: Layout, generation: str) -> Note | None:
    return documents.read(layout.note(generation), Note)


def hash_of_spec(spec: Spec) -> str:
    """Of what the spec means, not of how the file is laid out."""
    text = json.dumps(spec.model_dump(mode="json", by_alias=True), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def hash_of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
