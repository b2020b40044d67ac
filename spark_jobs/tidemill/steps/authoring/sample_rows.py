"""Reads the rows of sample files without a JVM, and what the spec has to say to read them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

from tidemill.contract.counted import counted
from tidemill.contract.errors import UsageError
from tidemill.file_formats.avro import MAGIC as AVRO_MAGIC
from tidemill.steps.authoring.sample_types import (
    SampledColumn,
    column_of_texts,
    column_of_values,
)
from tidemill.steps.authoring.typed_files import TYPED

MOST_ROWS = 20_000
_BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".orc": "orc",
    ".avro": "avro",
    ".txt": "text",
    ".log": "text",
}
_MAGIC = {b"PAR1": "parquet", b"ORC": "orc", AVRO_MAGIC: "avro"}
_SEPARATORS = ",;\t|"
Row = dict[str, Any]


class UnknownSample(UsageError):
    """A sample cannot be read without Spark; carries `path`."""


@dataclass(frozen=True)
class SampleRows:
    """Rows of a sample, and how they were read.

    Args:
        options: For Spark's reader.
        rows: The values as the format has them: texts of CSV, JSON's own, typed ones of Parquet.
        notes: What to look over.
    """

    format: str
    options: dict[str, str]
    columns: tuple[SampledColumn, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def read_sample(paths: Sequence[Path], format: str | None) -> SampleRows:
    """Read the first rows of some files of one format.

    Args:
        paths: One at least.
        format: As a spec has it; guessed from the first file where not given.

    Raises:
        UnknownSample: they are of no format that is read here, or hold no row.
    """
    chosen = format or guess_format(paths[0])
    reader = _READERS.get(chosen)
    if reader is None:
        raise UnknownSample(
            f"{paths[0]} is {chosen}, of which no sample is read without Spark.",
            remedy=f"Let Spark infer it: tidemill schema infer {paths[0]} --format {chosen}",
            path=paths[0],
            format=chosen,
        )
    try:
        found = reader(paths)
    except (ValueError, csv.Error) as error:
        raise UnknownSample(
            f"{paths[0]} cannot be read as {chosen}: {error}.",
            remedy="Name its format: --format csv, json, parquet, orc, avro or text.",
            path=paths[0],
            format=chosen,
        ) from error
    if not found.rows:
        raise UnknownSample(
            f"{paths[0]} holds no row.", remedy="Give files that hold some rows.", path=paths[0]
        )
    return found


def guess_format(path: Path) -> str:
    """The format of a file by its name, and where that says nothing by its first bytes."""
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    if suffixes and suffixes[-1].lower() in _BY_SUFFIX:
        return _BY_SUFFIX[suffixes[-1].lower()]
    with _bytes(path) as file:
        head = file.read(4096)
    magic = next((kind for start, kind in _MAGIC.items() if head.startswith(start)), None)
    if magic is not None:
        return magic
    if head.lstrip()[:1] in (b"{", b"["):
        return "json"
    first = head.splitlines()[0].decode(errors="replace") if head else ""
    return "csv" if any(mark in first for mark in _SEPARATORS) else "text"


def _read_csv(paths: Sequence[Path]) -> SampleRows:
    with _text(paths[0]) as file:
        first = file.readline()
    # The one that the first line has most of; a comma where it has none of them.
    separator = max(_SEPARATORS, key=first.count)
    names = next(csv.reader([first], delimiter=separator), [])
    header = _is_header(names)
    columns = names if header else [f"c{place}" for place in range(1, len(names) + 1)]
    lines = islice(_csv_lines(paths, separator, header=header), MOST_ROWS)
    cells = [line for line in lines if line]
    whole = [line for line in cells if len(line) == len(columns)]
    notes = _left_out(len(cells) - len(whole), "has another number of fields than the first line")
    rows = [dict(zip(columns, (cell or None for cell in line), strict=True)) for line in whole]
    given = {"sep": separator} if separator != "," else {}
    if any("\n" in cell for line in whole for cell in line):
        given["multiLine"] = "true"
    return SampleRows(
        "csv",
        given if header else {**given, "header": "false"},
        tuple(column_of_texts(name, [row[name] for row in rows]) for name in columns),
        tuple(rows),
        notes if header else (*notes, "the files have no header: name the columns"),
    )


def _is_header(cells: Sequence[str]) -> bool:
    """Names are given, differ, and are neither numbers nor times."""
    kinds = {column_of_texts(cell, [cell]).type for cell in cells}
    return all(cells) and len({*cells}) == len(cells) and kinds == {"string"}


def _csv_lines(paths: Sequence[Path], separator: str, *, header: bool) -> Iterator[list[str]]:
    for path in paths:
        with _text(path) as file:
            lines = csv.reader(file, delimiter=separator)
            if header:
                next(lines, None)
            yield from lines


def _read_json(paths: Sequence[Path]) -> SampleRows:
    with _text(paths[0]) as file:
        whole = file.read(1024).lstrip()[:1] == "["
    found = _json_documents(paths) if whole else _json_lines(paths)
    return json_rows(found, {"multiLine": "true"} if whole else {})


def json_rows(found: Iterable[Any], options: dict[str, str]) -> SampleRows:
    """Rows of parsed JSON values; what is not an object is left out, with a note."""
    values = [*islice(found, MOST_ROWS)]
    rows = [value for value in values if isinstance(value, dict)]
    names = dict.fromkeys(name for row in rows for name in row)
    return SampleRows(
        "json",
        options,
        tuple(column_of_values(name, [row.get(name) for row in rows]) for name in names),
        tuple(rows),
        _left_out(len(values) - len(rows), "is not a JSON object"),
    )


def _json_documents(paths: Sequence[Path]) -> Iterator[Any]:
    for path in paths:
        with _text(path) as file:
            value = json.load(file)
        yield from value if isinstance(value, list) else [value]


def _json_lines(paths: Sequence[Path]) -> Iterator[Any]:
    for path in paths:
        with _text(path) as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    if line.strip():
                        yield None


def _read_text(paths: Sequence[Path]) -> SampleRows:
    lines = (line.rstrip("\r\n") for path in paths for line in _text(path))
    rows = tuple({"value": line} for line in islice(lines, MOST_ROWS))
    return SampleRows("text", {}, (SampledColumn("value", "string"),), rows)


def _read_typed(format: str, paths: Sequence[Path]) -> SampleRows:
    columns, rows = TYPED[format](paths[0], MOST_ROWS)
    return SampleRows(format, {}, tuple(columns), tuple(islice(rows, MOST_ROWS)))


def _left_out(rows: int, why: str) -> tuple[str, ...]:
    return (f"{counted(rows, 'row')}: {why}, and was left out",) if rows > 0 else ()


def _text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _bytes(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


_READERS: dict[str, Callable[[Sequence[Path]], SampleRows]] = {
    "csv": _read_csv,
    "json": _read_json,
    "text": _read_text,
    **{format: partial(_read_typed, format) for format in TYPED},
}
