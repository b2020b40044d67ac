"""A file that a batch wrote, and the rows in it."""

from collections.abc import Sequence
from pathlib import Path

from tidemill.contract.document import FrozenModel
from tidemill.file_formats.table import measure_all
from tidemill.file_formats.written_format import PARQUET, WriteFormat
from tidemill.spark_logs.partition_paths import is_rejected, partition_values
from tidemill.spark_logs.sink_log import SinkFile
from tidemill.spec.output import REJECTED


class OutputFile(FrozenModel):
    """A file that a batch wrote.

    Attributes:
        path: Relative to the sink directory, as it is on disk.
        uncompressed_bytes: The uncompressed size; for text formats, the size on disk.
        rejected: Whether its rows are rejected ones.
        partition: Column -> value, without the engine's own.
    """

    path: str
    size: int
    rows: int
    uncompressed_bytes: int
    rejected: bool
    partition: dict[str, str | None]


def output_files(
    files: Sequence[SinkFile],
    sink: Path,
    written: WriteFormat = PARQUET,
    *,
    keeps_null: bool = False,
) -> tuple[OutputFile, ...]:
    """The output files with their rows, from their content and directories.

    Args:
        keeps_null: Whether the null partition holds good rows.

    Raises:
        TornParquet: a Parquet file is not whole.
        TornOutput: a file of another format is not whole.
        MissingDataFile: one of them is not there.
    """
    measured = measure_all((file.path, written) for file in files)
    outputs = []
    for file, content in zip(files, measured, strict=True):
        values = partition_values(file.path, file.base or sink)
        outputs.append(
            OutputFile(
                path=str(file.path.relative_to(sink)),
                size=file.size,
                rows=content.rows,
                uncompressed_bytes=content.uncompressed_bytes,
                rejected=is_rejected(values, keeps_null=keeps_null),
                partition={k: v for k, v in values.items() if k != REJECTED},
            )
        )
    return tuple(outputs)
