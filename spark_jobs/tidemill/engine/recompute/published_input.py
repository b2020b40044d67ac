"""The input of a generation's batches without exclusions, as one DataFrame per source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.contract.syntax.quantities import sum_if_known
from tidemill.engine.sources.input_gone import files_gone
from tidemill.engine.sources.kinds import spark_source
from tidemill.increments.exclusions import Excluded
from tidemill.journal.takeovers import lineage
from tidemill.ledger.batch_times import with_batch_time
from tidemill.ledger.ledger import Batch, InputFile, Ledger
from tidemill.ledger.ranges_read import RangesRead
from tidemill.ledger.static_pins import StaticPin
from tidemill.sources.files.clean_source import located
from tidemill.spark_logs.offset_ranges import Range, outside
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Source, Spec


class NotReplayable(Refused):
    """A source gives nothing twice; carries `source`."""


@dataclass(frozen=True)
class Read:
    """The input that one batch read, without exclusions.

    Args:
        ledger: The ledger of the generation that ran it, perhaps the one before a fork.
        files: Those that count.
        ranges: Kafka source -> the records that count.
        whole: Whether all counts that it read.
    """

    batch: Batch
    ledger: Ledger
    files: tuple[InputFile, ...]
    ranges: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    whole: bool = True

    @property
    def inputs(self) -> int:
        return len(self.files) + sum(map(len, self.ranges.values()))


def reads_of(
    layout: Layout, generation: str, first: int, last: int, without: Excluded
) -> list[Read]:
    """The input of batches, by the ledger.

    Args:
        generation: The generation; for a fork, earlier batches are those of the generation it left.
        first: The first batch.
        last: The last.
        without: The input that does not count.
    """
    reads = []
    before: Batch | None = None
    ledgers = [(first, Ledger(layout, name)) for name, first in lineage(layout, generation).items()]
    records: dict[str, RangesRead] = {}
    for number in range(max(0, first - 1), last + 1):
        ledger = next(ledger for since, ledger in ledgers if since <= number)
        (batch,) = ledger.batches(number, number)
        if number >= first:
            of_ledger = records.setdefault(ledger.generation, RangesRead(ledger))
            reads.append(_read(ledger, batch, of_ledger.read_by(batch, before), without))
        before = batch
    return reads


def with_batch_times(reads: Sequence[Read], spec: Spec) -> list[Read]:
    """The reads, of which each knows its batch's time, recorded with it or not.

    Args:
        spec: Today's, which names the static inputs that hold it.
    """
    names = spec.batch_statics
    if not names:
        return [*reads]
    return [
        replace(
            one,
            batch=one.batch.model_copy(
                update={
                    "static": with_batch_time(one.batch.static, names, one.ledger, one.batch.batch)
                }
            ),
        )
        for one in reads
    ]


def _read(
    ledger: Ledger, batch: Batch, read: Mapping[str, tuple[Range, ...]], without: Excluded
) -> Read:
    files = tuple(file for file in batch.inputs if not without.holds(file))
    out = without.ranges or {}
    ranges = {name: outside(own, out.get(name, ())) for name, own in read.items()}
    return Read(batch, ledger, files, ranges, len(files) == len(batch.inputs) and ranges == read)


@dataclass(frozen=True)
class Inputs:
    """Files and records that are where they can be read.

    Args:
        places: Source -> its files where they are now, each with how it was.
    """

    reads: Sequence[Read]
    places: Mapping[str, Sequence[tuple[Path, InputFile]]]

    def ranges_of(self, name: str) -> list[Range]:
        """The records of a source, in the order in which they were read."""
        return [one for read in self.reads for one in read.ranges.get(name, ())]

    @property
    def count(self) -> int:
        return sum(read.inputs for read in self.reads)

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(file.size or 0 for read in self.reads for file in read.files)

    @property
    def rows(self) -> int | None:
        """By the ledger; None where only a part of what a batch read counts, or it is not known."""
        return sum_if_known(
            read.batch.rows_in if read.whole else None for read in self.reads if read.inputs
        )

    def by_pins(self, names: Iterable[str]) -> list[tuple[dict[str, StaticPin], Inputs]]:
        """The same in parts that read the same static inputs.

        Args:
            names: The static inputs of today's spec.
        """
        known = set(names)
        parts: dict[str, tuple[dict[str, StaticPin], list[Read]]] = {}
        for read in [read for read in self.reads if read.inputs] or self.reads[-1:]:
            pins = {name: pin for name, pin in read.batch.static.items() if name in known}
            key = repr(sorted((name, pin.kind, pin.identity) for name, pin in pins.items()))
            parts.setdefault(key, (pins, []))[1].append(read)
        return [(pins, self.of(reads)) for pins, reads in parts.values()]

    def prove(self) -> None:
        """Prove that the files are still what was read.

        Raises:
            InputGone: some are not.
        """
        lost = [file for files in self.places.values() for at, file in files if not file.is_at(at)]
        if lost:
            raise files_gone(lost)

    def of(self, reads: Sequence[Read]) -> Inputs:
        """The inputs of some of the batches."""
        files_read = {(file.source, file.path) for read in reads for file in read.files}
        places = {
            name: [(at, file) for at, file in files if (name, file.path) in files_read]
            for name, files in self.places.items()
        }
        return Inputs(reads, places)


def inputs_of(pipeline: Pipeline, reads: Sequence[Read]) -> Inputs:
    """Find what batches read.

    Raises:
        InputGone: files are gone, or are others; carries all of them.
        NotReplayable: a source gives nothing twice.
    """
    places: dict[str, list[tuple[Path, InputFile]]] = {}
    lost = []
    for read in reads:
        for file in read.files:
            at = _place(read, file)
            if at is None:
                lost.append(file)
            else:
                places.setdefault(file.source, []).append((at, file))
    if lost:
        raise files_gone(lost)
    for name, source in pipeline.spec.sources.items():
        took = any(name in read.batch.offsets for read in reads)
        if took and not source.READS_AGAIN:
            raise NotReplayable(
                f"sources.{name} is of kind {source.kind}, which cannot be asked for what batches "
                "of the past have read.",
                remedy="Land it first in a pipeline of its own, and read that one's table.",
                source=name,
            )
    return Inputs(reads, places)


def _place(read: Read, file: InputFile) -> Path | None:
    # Most files are where they were; whether one was put away takes a document to know.
    if file.is_at(file.on_disk):
        return file.on_disk
    return located(read.ledger, read.batch.batch, file)


def read_prefix(session: SparkSession, pipeline: Pipeline, inputs: Inputs) -> dict[str, DataFrame]:
    """The rows of a prefix by source, shaped like those of the stream.

    Raises:
        InputGone: Spark lists other files than the ledger has.
        Refused: records are gone.
    """
    names = pipeline.spec.sources
    return {name: read_source(session, pipeline, inputs, name) for name in names}


def read_source(
    session: SparkSession,
    pipeline: Pipeline,
    inputs: Inputs,
    name: str,
    source: Source | None = None,
) -> DataFrame:
    """The rows of one source; as `read_prefix`.

    Args:
        source: How it is read, where that is not as the spec says today.
    """
    files = inputs.places.get(name, ())
    return spark_source(session, pipeline, name, source).read_part(files, inputs.ranges_of(name))
