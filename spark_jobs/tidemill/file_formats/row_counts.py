"""Counts the rows of a sink file without Spark.

Parquet says it in its footer (see `footers`), ORC and Avro beside their rows; a text format has a
line break after each row, and in CSV further ones inside quotes.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pyarrow as pa
from pyarrow import orc

from tidemill.contract.errors import Refused
from tidemill.file_formats.avro import NotAvro, avro_rows
from tidemill.file_formats.parquet import missing
from tidemill.file_formats.text import count_lines, csv_rows
from tidemill.file_formats.written_format import WriteFormat


class TornOutput(Refused):
    """A file of the sink is not whole; carries `file`, `size` in bytes and `reason`."""


def count_rows(path: Path, written: WriteFormat) -> int:
    """The rows of a file in any of the sink's formats but Parquet.

    Args:
        path: The file's path.
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
            return sum(1 for _ in csv_rows(path, written))
        separator = written.option("lineSep", "\n").encode()
        return count_lines(path, separator)
    except FileNotFoundError as error:
        raise missing(path) from error
    except (pa.ArrowException, NotAvro, OSError, EOFError, zlib.error) as error:
        size = path.stat().st_size
        raise TornOutput(
            f"{path} ({size} bytes) is not a whole {written.format} file.",
            remedy="Restore it from a backup.",
            file=path,
            size=size,
            reason=str(error),
        ) from error
