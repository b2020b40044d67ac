"""What is asked of the files of a format without a JVM; a class for each format answers."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidemill.contract.errors import Refused
from tidemill.contract.syntax.ddl import DdlType
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.rules import FormatRules
from tidemill.spec.sources.file import FileSource

if TYPE_CHECKING:
    from tidemill.file_formats.parquet import Footer

Columns = Mapping[str, DdlType]
"""Column -> type."""
NO_ZONE = "timestamp_ntz, which has no zone"
"""What a timestamp without a zone is called where an instant has to be."""
REJECT = "_reject"
"""The column that says why a row was rejected."""
REJECT_TYPE = pa.struct(
    [
        ("reason", pa.string()),
        ("file", pa.string()),
        ("record", pa.string()),
        ("partition", pa.map_(pa.string(), pa.string())),
    ]
)


class NotWhole(ValueError):
    """A file is not a whole file of its format."""


# What comes out of reading a file that is cut off or something else.
DAMAGED = (pa.ArrowException, NotWhole, OSError, EOFError, zlib.error)


class TornOutput(Refused):
    """A file of the sink is not whole; carries `file`, `size` in bytes and `reason`."""


class MissingDataFile(Refused):
    """A file that a log or ledger names is not there; carries `file`."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not there, though it was committed.",
            remedy="Restore it from a backup; Tidemill deletes no committed file.",
            file=path,
        )


@dataclass(frozen=True)
class Measured:
    """How much a file of the sink holds.

    Args:
        uncompressed_bytes: The size of its content; the file's own size where it does not say.
        footer: The footer of a Parquet file; None for other formats.
    """

    rows: int
    uncompressed_bytes: int
    footer: Footer | None = None


class FormatReader:
    """Answers for the files of one format.

    The first three methods look at input, the others at what Spark wrote. A format answers with
    None, or with nothing, what its files do not tell.

    Attributes:
        rules: What a spec may say of the format.
        if_part_read: What to do where Spark would read only a part of a file.
        if_without_zone: What to do where a file has timestamps without a zone.
    """

    rules: FormatRules
    if_part_read = "Put the whole file in its place"
    if_without_zone = (
        "Declare it as timestamp_ntz; cast to timestamp in the transform, it is a time of the "
        "spec's timezone."
    )

    def part_read(self, path: Path, source: FileSource) -> str | None:
        """Why Spark would silently read only a part of a file.

        Returns:
            None where Spark reads all of it, or fails.
        """
        return None if path.stat().st_size else "is empty, and no such file can be"

    def misfits(self, path: Path, source: FileSource, wanted: Columns) -> Iterator[str]:
        """The columns of a file that Spark would read as nulls or other values.

        Args:
            wanted: The columns that the file has to hold.

        Raises:
            DAMAGED: one of these, if the file is not whole; also for `new_columns` and
                `dropped_digits`.
        """
        return iter(())

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        """The columns of a file, and the fields of its structs, that the schema does not name."""
        return iter(())

    def dropped_digits(self, path: Path, source: FileSource, wanted: Columns) -> Counter[str]:
        """Column -> values of a file of which a decimal has no place for all digits.

        Args:
            wanted: As for `misfits`.
        """
        return Counter()

    def records(self, path: Path, source: FileSource) -> int | None:
        """The rows that Spark makes of a file, counted without it; None where only Spark can tell.

        Raises:
            DAMAGED: one of these, if the file is not whole.
        """
        return None

    def measure(self, path: Path, written: WriteFormat) -> Measured:
        """The rows and bytes of a file of the sink.

        Raises:
            TornOutput: it is empty, cut off or something else.
            MissingDataFile: it is not there.
        """
        try:
            return Measured(self._rows(path, written), path.stat().st_size)
        except FileNotFoundError as error:
            raise MissingDataFile(path) from error
        except DAMAGED as error:
            size = path.stat().st_size
            raise TornOutput(
                f"{path} ({size} bytes) is not a whole {self.rules.name} file.",
                remedy="Restore it from a backup.",
                file=path,
                size=size,
                reason=str(error),
            ) from error

    def rejects(self, path: Path, written: WriteFormat) -> pa.StructArray:
        """Why each row of a file of rejected rows was rejected, and what it was."""
        return pa.array(map(_typed, self._rejects(path, written)), REJECT_TYPE)

    def _rows(self, path: Path, written: WriteFormat) -> int:
        """The number of rows, where `measure` is as it is here."""
        raise NotImplementedError

    def _rejects(self, path: Path, written: WriteFormat) -> Iterator[Any]:
        """The fields of each `_reject`, as JSON has them, where `rejects` is as it is here."""
        raise NotImplementedError


def _typed(reject: dict[str, Any] | None) -> dict[str, Any] | None:
    """JSON leaves nulls out, and has no maps."""
    if reject is None:
        return None
    partition = reject.get("partition")
    return {
        **{name: reject.get(name) for name in ("reason", "file", "record")},
        "partition": None if partition is None else list(partition.items()),
    }
