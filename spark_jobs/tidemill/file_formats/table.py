"""All readers by the names of their formats: the only place where a name becomes a reader."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidemill.file_formats.avro import Avro
from tidemill.file_formats.csv import Csv
from tidemill.file_formats.json import Json
from tidemill.file_formats.orc import Orc
from tidemill.file_formats.parquet import Parquet
from tidemill.file_formats.reader import FormatReader, Measured
from tidemill.file_formats.text import Text
from tidemill.file_formats.written_format import WriteFormat
from tidemill.file_formats.xml import Xml

READERS: Mapping[str, FormatReader] = {
    reader.rules.name: reader for reader in (Csv(), Json(), Parquet(), Orc(), Text(), Avro(), Xml())
}


def measure_all(files: Iterable[tuple[Path, WriteFormat]]) -> tuple[Measured, ...]:
    """The rows and bytes of files of the sink, in their order.

    Args:
        files: Paths, and how Spark wrote each.

    Raises:
        TornParquet: a Parquet file is not whole.
        TornOutput: a file of another format is not whole.
        MissingDataFile: one of them is not there.
    """
    with ThreadPoolExecutor() as pool:
        return tuple(pool.map(lambda file: READERS[file[1].format].measure(*file), files))
