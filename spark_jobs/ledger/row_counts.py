"""How many rows a file of the sink holds, counted without Spark.

Parquet says it in its footer (see `footers`), ORC and Avro beside their rows; a text format has a
line break after each row, and in CSV further ones inside quotes.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyarrow import orc

from spark_jobs.contract.errors import Refused
from spark_jobs.ledger.avro_file import NotAvro, avro_rows
from spark_jobs.ledger.footers import MissingDataFile
from spark_jobs.ledger.written import Written

CHUNK_BYTES = 2**20


class TornOutput(Refused):
    """A file of the sink is not whole; carries `file`, `size` in bytes and `reason`."""


def count_rows(path: Path, written: Written) -> int:
    """The rows of a file in any of the sink's formats but Parquet.

    Args:
        path: Of the file.
        written: How Spark wrote it.

    Raises:
        TornOutput: it is empty, cut off or something else.
        MissingDataFile: it is not there.
    """
    try:
        if written.format == "orc":
            return int(orc.ORCFile(path).nrows)
        if written.format == "avro":
            return avro_rows(path)
        if written.format == "csv":
            return _csv_rows(path, written)
        separator = written.option("lineSep", "\n").encode()
        return sum(chunk.count(separator) for chunk in _whole_lines(path, separator))
    except FileNotFoundError as error:
        raise MissingDataFile(
            f"{path} is not there, though it was committed.",
            remedy="Restore it from a backup; nothing of ours deletes a committed file.",
            file=path,
        ) from error
    except (pa.ArrowException, NotAvro, OSError, EOFError, zlib.error) as error:
        size = path.stat().st_size
        raise TornOutput(
            f"{path} ({size} bytes) is no whole {written.format} file.",
            remedy="Restore it from a backup.",
            file=path,
            size=size,
            reason=str(error),
        ) from error


def _csv_rows(path: Path, written: Written) -> int:
    separator = written.option("lineSep", "\n").encode()
    quote = re.escape(written.option("quote", '"').encode())
    escape = re.escape(written.option("escape", "\\").encode())
    if escape == quote:
        inside = rb"(?:[^%b]|%b%b)*+" % (quote, quote, quote)
    else:
        inside = rb"(?:[^%b%b]|%b.)*+" % (quote, escape, escape)
    # A quoted field, one that goes on in the next chunk, or the end of a row.
    token = re.compile(
        rb"%b%b(?:%b|(\Z))|(%b)" % (quote, inside, quote, re.escape(separator)), re.DOTALL
    )
    rows, rest = 0, b""
    for chunk in _whole_lines(path, separator):
        rest += chunk
        end = 0
        for found in token.finditer(rest):
            if found.group(2):
                rows += 1
                end = found.end()
        rest = rest[end:]
    header = written.option("header", "false").lower() == "true"
    return rows - 1 if header and rows else rows


def _whole_lines(path: Path, separator: bytes) -> Iterator[bytes]:
    """The content in chunks, each of which ends with a separator, as Spark ends every row."""
    rest = b""
    for chunk in _content(path):
        whole, found, rest = (rest + chunk).rpartition(separator)
        if found:
            yield whole + found
    if rest:
        msg = "the last row has no end"
        raise EOFError(msg)


def _content(path: Path) -> Iterator[bytes]:
    if path.suffix == ".deflate":
        with path.open("rb") as compressed:
            yield from _inflated(compressed)
        return
    opened: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, Path.open)
    with opened(path, "rb") as content:
        while chunk := content.read(CHUNK_BYTES):
            yield chunk


def _inflated(content: IO[bytes]) -> Iterator[bytes]:
    inflate = zlib.decompressobj()
    while chunk := content.read(CHUNK_BYTES):
        yield inflate.decompress(chunk)
    yield inflate.flush()
    if not inflate.eof:
        msg = "the compressed content ends early"
        raise EOFError(msg)
