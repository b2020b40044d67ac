"""The files that are judged, listed one by one, never a directory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tidemill.file_formats.written_format import PARQUET, WriteFormat
from tidemill.gate.columns import Column, parse_columns


@dataclass(frozen=True)
class SampleFile:
    """One file.

    Args:
        sink: The directory that its partition directories begin in.
        partition: Partition column -> value as Spark printed it; None is null.
        written: Its format, and how Spark wrote it.
    """

    path: Path
    sink: Path
    partition: Mapping[str, str | None]
    written: WriteFormat = PARQUET


# Great Expectations' name of a metric, and its column or None for one of the whole table.
Metric = tuple[str, str | None]


@dataclass(frozen=True)
class Rows:
    """The rows of some files as an engine holds them.

    Args:
        frame: A DataFrame of pandas or Spark, with the columns in their judged form.
        count: How many they are.
        known: Metrics of these rows that need no look at them.
    """

    frame: Any
    count: int
    known: Mapping[Metric, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """The rows of one judgement.

    Args:
        files: The good files of the increment.
        columns: The good table's schema with its partition columns, as Spark's JSON. Whatever else
            the files hold, such as the engine's own columns, is not judged.
        time_zone: The spec's; timestamps are judged as its wall clock shows them.
        extra_files: Published files of the partitions that the increment touches; only
            expectations with the scope `table` see them.
    """

    files: tuple[SampleFile, ...]
    columns: str
    time_zone: str
    extra_files: tuple[SampleFile, ...] = ()

    @cached_property
    def parsed(self) -> Mapping[str, Column]:
        return parse_columns(self.columns)
