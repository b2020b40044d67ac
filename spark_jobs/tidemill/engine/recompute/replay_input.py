"""Lays out the input of live batches so that a replay takes exactly the same batches.

For each batch one Parquet file of each source is in a folder, without rows where the batch read
none. A file source that takes one file at a time from each folder then makes batch n of what live
made batch n of; one without rows moves watermarks and state on as an empty batch did.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.engine.recompute.published_input import inputs_of, read_prefix
from tidemill.engine.recompute.replay_segments import Step
from tidemill.engine.sources.file import ANY_AGE
from tidemill.engine.sources.kinds import read_stream
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.folders import copy_file, remove_folder

# Otherwise Spark (4.1 on) makes one partition of a union whose sides have one each.
UNION_OF_ONES = "spark.sql.unionOutputPartitioning"
_PART = re.compile(r"part-(\d+)-.*\.parquet")
_FIRST_TIME = 1_000_000_000


@dataclass(frozen=True)
class ReplayInput:
    """The input of batches, by source.

    Args:
        folder: Gets a folder for each source.
    """

    session: SparkSession
    pipeline: Pipeline
    folder: Path

    def streams(self) -> dict[str, DataFrame]:
        """The rows by source, shaped like those of `read_stream`."""
        frames = {}
        for name, schema in self._schemas.items():
            place = self.folder / name
            place.mkdir(parents=True, exist_ok=True)
            reader = self.session.readStream.name(name).format("parquet").schema(schema)
            reader = reader.option("maxFilesPerTrigger", 1).option("maxFileAge", ANY_AGE)
            frames[name] = reader.load(str(place))
        return frames

    def put(self, steps: Sequence[Step]) -> None:
        """Lay out what some batches read, in place of what was there; the streams are there.

        Raises:
            InputGone: a file is not there any more, or is another.
            NotReplayable: a source gives nothing twice.
        """
        read = {step.number: self._read(step) for step in steps}
        for name, schema in self._schemas.items():
            place = self.folder / name
            for file in place.iterdir():
                # At a start Spark looks at the batch before once more.
                if file.name != _file_of(steps[0].number - 1):
                    file.unlink()
            rows = {number: found[name] for number, found in read.items() if name in found}
            empty, files = self._written(name, schema, rows)
            for step in steps:
                target = place / _file_of(step.number)
                file = files.get(step.number, empty)
                if isinstance(target, ObjectPath):
                    # Its time is that of the copy; of equal times the name's order counts.
                    copy_file(file, target)
                    continue
                if step.number in files:
                    file.replace(target)
                else:
                    shutil.copyfile(file, target)
                # Spark takes files in the order of their times.
                os.utime(target, (_FIRST_TIME + step.number,) * 2)

    @cached_property
    def _schemas(self) -> Mapping[str, StructType]:
        names = self.pipeline.spec.sources
        return {name: read_stream(self.session, self.pipeline, name).schema for name in names}

    def _read(self, step: Step) -> Mapping[str, DataFrame]:
        """The rows of a batch by source, without those sources that gave none."""
        gave = {file.source for file in step.read.files}
        gave |= {name for name, ranges in step.read.ranges.items() if ranges}
        if not gave:
            return {}
        inputs = inputs_of(self.pipeline, [step.read])
        frames = read_prefix(self.session, self.pipeline, inputs)
        return {name: rows for name, rows in frames.items() if name in gave}

    def _written(
        self, name: str, schema: StructType, rows: Mapping[int, DataFrame]
    ) -> tuple[Path, Mapping[int, Path]]:
        """A file without rows, and batch -> its file, of those that have any; all in one job."""
        draft = self.folder / f".{name}"
        remove_folder(draft, missing_ok=True)
        parts = [self.session.createDataFrame([], schema), *rows.values()]
        together = reduce(DataFrame.unionAll, [part.coalesce(1) for part in parts])
        together.write.option("maxRecordsPerFile", 0).parquet(str(draft))
        named = ((_PART.fullmatch(path.name), path) for path in draft.iterdir())
        # A partition without rows leaves no file, unless it is the first.
        by_part = {int(match[1]): path for match, path in named if match}
        files = {n: by_part[part] for part, n in enumerate(rows, 1) if part in by_part}
        return by_part[0], files


def _file_of(batch: int) -> str:
    return f"{batch:09d}.parquet"
