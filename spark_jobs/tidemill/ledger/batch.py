"""The records of a committed batch and of the query start that produced it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import AliasChoices, Field

from tidemill.contract.document import Document
from tidemill.file_formats.written_format import WriteFormat
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.output_file import OutputFile
from tidemill.ledger.static_pins import StaticPin

__all__ = ["Batch", "Counts", "InputFile", "OutputFile", "RowsPerRow", "Start"]

# How many rows a transform makes of each row that it is given.
RowsPerRow = Literal["one", "at_most_one", "any"]


class Start(Document):
    """One start of the query: which code, spec and columns its batches were made with.

    Attributes:
        epoch: The epoch of the lease it ran under, or a greater number if that had one already.
        last_written: The last batch in the sink's log when it started; later ones are its own.
        write_format: How its batches' files are written.
        hashed_sources: The sources whose files are known by their content.
        cleaned_sources: The sources whose files are put away once they are published.
        cleaned_objects: The sources whose objects are put away in their store likewise.
        last_planned: The last batch that was planned when it started: that one reads the static
            inputs of the start that planned it, and only later ones read this start's.
        static: Static input -> what was pinned of it.
        readings: Source -> how its rows were read (`ledger.reading`); nothing where that was not
            kept yet.
        rows_per_row: How many rows the transform makes of each good one; `any` where it cannot be
            told, and in older documents.
    """

    epoch: int
    run_id: str
    spec_hash: str
    code_hash: str
    table_schema: dict[str, Any]
    last_written: int = Field(validation_alias=AliasChoices("last_written", "produced"))
    at: datetime
    write_format: WriteFormat = Field(
        default=WriteFormat(), validation_alias=AliasChoices("write_format", "written")
    )
    hashed_sources: tuple[str, ...] = Field(
        default=(), validation_alias=AliasChoices("hashed_sources", "hashed")
    )
    cleaned_sources: tuple[str, ...] = Field(
        default=(), validation_alias=AliasChoices("cleaned_sources", "cleans")
    )
    cleaned_objects: tuple[str, ...] = ()
    last_planned: int = Field(default=-1, validation_alias=AliasChoices("last_planned", "planned"))
    static: dict[str, StaticPin] = {}
    readings: dict[str, dict[str, Any]] = {}
    rows_per_row: RowsPerRow = "any"


@dataclass(frozen=True)
class Counts:
    """The counts of a batch whose rows leave no files here.

    Args:
        rows: Handed to the sink.
        rejected: Reason -> rows that were left out.
    """

    rows: int
    rejected: Mapping[str, int]


class Batch(Document):
    """One committed batch of a generation.

    Attributes:
        offsets: Source -> its offset after the batch.
        rows_in: Rows read; None where the driver died before it said so, or none were counted:
            then `rows` and `rejected` of a batch without files are unknown too, and 0.
        reasons: Reason -> rejected rows, where the batch left no files that hold them.
        wake: Whether the next run must happen without new input.
        static: Static input -> what the batch read of it.
        start: The epoch of the `Start` that made its files.
        rows_per_row: As in that start.
    """

    generation: str
    batch: int
    offsets: dict[str, Any]
    inputs: tuple[InputFile, ...]
    outputs: tuple[OutputFile, ...]
    rows_in: int | None
    rows: int
    rejected: int
    reasons: dict[str, int] = {}
    watermark_before_ms: int
    watermark_after_ms: int
    wake: Literal["none", "next_run"] = "none"
    static: dict[str, StaticPin] = {}
    start: int
    run_id: str
    spec_hash: str
    code_hash: str
    committed: datetime
    rows_per_row: RowsPerRow = "any"
