"""What a driver leaves that is killed at a point of Spark's protocol, made of a whole run's files.

A batch that was ingested is taken apart again: what comes after the point is removed, and what was
being written there is beside it as Spark's temporary file, cut in half.
"""

from __future__ import annotations

import shutil
from enum import IntEnum, auto
from pathlib import Path

from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.pipelines.pipeline_folder import STEPS
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.ledger import Ledger

UUID = "3d6f7a52-8d0c-4b0f-9a77-0a3b1f6f2f11"
# What Hadoop's local file system has written of a checksum file by then.
CHECKSUM_HEADER = b"crc\0\0\0\2\0"


class Point(IntEnum):
    """The points, in the order in which a batch comes by them.

    "Within" a log is before its entry has its name, while the temporary file is written.
    """

    WITHIN_SOURCE_LOG = auto()
    AFTER_SOURCE_LOG = auto()
    WITHIN_OFFSETS = auto()
    AFTER_OFFSETS = auto()
    AFTER_DATA = auto()
    WITHIN_SINK_LOG = auto()
    AFTER_SINK_LOG = auto()
    WITHIN_COMMIT = auto()
    AFTER_COMMIT = auto()


class Kept:
    """A pipeline that can be put back to where it was, for Spark's logs hold absolute paths."""

    def __init__(self, mill: OrdersPipeline) -> None:
        self.mill = mill
        self._copy = mill.home / "kept"
        for name in ("root", "input"):
            shutil.copytree(mill.home / name, self._copy / name)

    def back(self) -> OrdersPipeline:
        """The pipeline as it was kept."""
        for name in ("root", "input"):
            shutil.rmtree(self.mill.home / name)
            shutil.copytree(self._copy / name, self.mill.home / name)
        return self.mill


def keep_ingested(mill: OrdersPipeline) -> Kept:
    """Take in what has arrived, judge nothing of it, and keep the pipeline as it is then."""
    for step in STEPS[:2]:
        report = mill.step(step, "killed")
        assert report.outcome is Outcome.DONE, report.error
    return Kept(mill)


def assert_gone_on(mill: OrdersPipeline, run_id: str = "after") -> None:
    """Run a pipeline after a kill: every row is published once, every file in one batch."""
    reports = mill.run(run_id)
    assert [report.outcome for report in reports.values()] == [Outcome.DONE] * len(STEPS), reports
    mill.assert_whole()
    batches = Ledger(mill.layout, FIRST_GENERATION).batches()
    read = sorted(file.path for batch in batches for file in batch.inputs)
    assert read == sorted(str(path) for path in mill.input.iterdir())


def leave(mill: OrdersPipeline, batch: int, point: Point) -> None:
    """Leave the last batch as a driver does that is killed at a point.

    Args:
        mill: Its pipeline has ingested the batch, and sealed none of it.
        batch: The last one.
        point: Where.
    """
    last = Ledger(mill.layout, FIRST_GENERATION).batches(batch)[-1]
    (mill.layout.ledger(FIRST_GENERATION) / f"{batch:06d}.json").unlink()
    if point is Point.AFTER_COMMIT:
        return
    _remove(mill.checkpoint / "commits" / str(batch), cut=point is Point.WITHIN_COMMIT)
    log = mill.sink / "_spark_metadata"
    if log.is_dir() and point < Point.AFTER_SINK_LOG:
        _remove(_entry(log, batch), cut=point is Point.WITHIN_SINK_LOG)
    if point < Point.AFTER_DATA:
        for file in last.outputs:
            _remove(mill.sink / file.path)
        for manifest in mill.sink.glob(f"batch={batch}/_manifest.json"):
            manifest.unlink()
        # Version n + 1 of the state is that after batch n.
        for change in mill.checkpoint.glob(f"state/*/*/{batch + 1}.changelog"):
            _remove(change)
    if point < Point.AFTER_OFFSETS:
        _remove(mill.checkpoint / "offsets" / str(batch), cut=point is Point.WITHIN_OFFSETS)
    if point < Point.AFTER_SOURCE_LOG:
        (log,) = (mill.checkpoint / "sources").iterdir()
        _remove(_entry(log, batch), cut=True)


def _entry(log: Path, batch: int) -> Path:
    compact = log / f"{batch}.compact"
    return compact if compact.exists() else log / str(batch)


def _remove(file: Path, *, cut: bool = False) -> None:
    """Remove a file of Spark's with its checksum; `cut` leaves half of it under another name."""
    content = file.read_bytes()
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    if cut:
        draft = file.with_name(f".{file.name}.{UUID}.tmp")
        draft.write_bytes(content[: len(content) // 2])
        draft.with_name(f".{draft.name}.crc").write_bytes(CHECKSUM_HEADER)
