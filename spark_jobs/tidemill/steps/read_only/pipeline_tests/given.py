"""Writes the given rows of a test as a file that the source reads."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemill.contract.errors import UsageError
from tidemill.spec.sources.file import FileSource


class GivenNotWritable(UsageError):
    """Rows cannot be written in the format of a source; carries `source` and `format`."""


def write_rows(
    rows: Sequence[Mapping[str, Any]], name: str, source: FileSource, folder: Path
) -> Path:
    """A file with the rows, as the source's feed would write it.

    Args:
        rows: Column -> value. A text is written as it is; None is a missing value.
        name: The source's.
        folder: Where the file is written.

    Raises:
        GivenNotWritable: the format is binary, or a file of it cannot hold the rows.
    """
    pattern = source.reader_option("pathGlobFilter") or ""
    # The commonest pattern is one with a star.
    path = folder / (pattern.replace("*", name) if "*" in pattern else f"{name}.{source.format}")
    match source.format:
        case "json":
            lines = (json.dumps(dict(row), ensure_ascii=False) for row in rows)
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        case "text" if all(set(row) == {"value"} for row in rows):
            path.write_text("".join(f"{row['value']}\n" for row in rows), encoding="utf-8")
        case "csv":
            _write_csv(rows, name, source, path)
        case _:
            raise GivenNotWritable(
                f"given.{name}: rows cannot be written as {source.format}.",
                remedy="Name a file beside the tests instead of rows.",
                source=name,
                format=source.format,
            )
    return path


def _write_csv(
    rows: Sequence[Mapping[str, Any]], name: str, source: FileSource, path: Path
) -> None:
    if unknown := sorted({column for row in rows for column in row}.difference(source.columns)):
        raise GivenNotWritable(
            f"given.{name}: the source has no column '{unknown[0]}'.",
            remedy=f"It has {', '.join(source.columns)}.",
            source=name,
            format=source.format,
        )
    separator = source.reader_option("sep") or source.reader_option("delimiter") or ","
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, source.columns, delimiter=separator, lineterminator="\n")
        if source.is_on("header"):
            writer.writeheader()
        for row in rows:
            writer.writerow({column: _as_text(value) for column, value in row.items()})


def _as_text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
