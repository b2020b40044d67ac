"""The input of a generation's batches without exclusions, as one DataFrame per source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.contract.syntax.quantities import sum_if_known
from tidemill.engine.sources.read import read_stream
from tidemill.engine.sources.reread import InputGone, of_files
from tidemill.increments.exclusions import Excluded
from tidemill.journal.takeovers import lineage
from tidemill.ledger.ledger import Batch, InputFile, Ledger
from tidemill.ledger.static_pins import StaticPin
from tidemill.sources.files.clean_source import located
from tidemill.sources.kafka.accepted_loss import Losses
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file, read_initial_offsets
from tidemill.spark_logs.offset_ranges import Range, as_offsets, between, outside
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.spec import Source

MOST_NAMED = 20
LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"


class NotReplayable(Refused):
    """A source gives nothing twice; carries `source`."""


@dataclass(frozen=True)
class Read:
    """The input that one batch read, without exclusions.

    Args:
        batch: As its ledger has it.
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
    found = []
    before: Batch | None = None
    ledgers = [(first, Ledger(layout, name)) for name, first in lineage(layout, generation).items()]
    for number in range(max(0, first - 1), last + 1):
        ledger = next(ledger for since, ledger in ledgers if since <= number)
        (batch,) = ledger.batches(number, number)
        if number >= first:
            found.append(_read(ledger, batch, before, without))
        before = batch
    return found


def _read(ledger: Ledger, batch: Batch, before: Batch | None, without: Excluded) -> Read:
    files = tuple(file for file in batch.inputs if not without.holds(file))
    read = dict(_ranges(ledger, batch, before))
    out = without.ranges or {}
    ranges = {name: outside(own, out.get(name, ())) for name, own in read.items()}
    return Read(batch, ledger, files, ranges, len(files) == len(batch.inputs) and ranges == read)


def _ranges(
    ledger: Ledger, batch: Batch, before: Batch | None
) -> Iterator[tuple[str, tuple[Range, ...]]]:
    for name, offset in batch.offsets.items():
        # Only Kafka's offsets map topics to partitions. A custom source may store anything.
        if not isinstance(offset, dict) or not all(isinstance(v, dict) for v in offset.values()):
            continue
        then = as_offsets(before.offsets.get(name)) if before is not None else {}
        noted = read_initial_offsets(initial_offsets_file(ledger.layout, ledger.generation, name))
        found = between(then or noted or {}, as_offsets(offset))
        if found:
            # What had expired before it was read, a batch without rows has passed over.
            losses = Losses(ledger.layout, ledger.generation, name).all()
            yield name, outside(found, [one for loss in losses for one in loss.ranges])


@dataclass(frozen=True)
class Inputs:
    """Files and records that are where they can be read.

    Args:
        reads: What the batches read.
        places: Source -> its files where they are now, each with how it was.
    """

    reads: Sequence[Read]
    places: Mapping[str, Sequence[tuple[Path, InputFile]]]

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
        wanted = set(names)
        parts: dict[str, tuple[dict[str, StaticPin], list[Read]]] = {}
        for read in [read for read in self.reads if read.inputs] or self.reads[-1:]:
            pins = {name: pin for name, pin in read.batch.static.items() if name in wanted}
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
            raise _gone(lost)

    def of(self, reads: Sequence[Read]) -> Inputs:
        """The inputs of some of the batches."""
        wanted = {(file.source, file.path) for read in reads for file in read.files}
        places = {
            name: [(at, file) for at, file in files if (name, file.path) in wanted]
            for name, files in self.places.items()
        }
        return Inputs(reads, places)


def inputs_of(pipeline: Pipeline, reads: Sequence[Read]) -> Inputs:
    """Find what batches read.

    Args:
        reads: From `reads_of`.

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
        raise _gone(lost)
    for name, source in pipeline.spec.sources.items():
        took = any(name in read.batch.offsets for read in reads)
        if took and not isinstance(source, FileSource | KafkaSource):
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

    Args:
        session: To read with.
        inputs: From `inputs_of`.

    Raises:
        InputGone: Spark lists other files than the ledger has.
        Refused: records are gone.
    """
    sources = pipeline.spec.sources.items()
    return {name: read_source(session, pipeline, inputs, name, source) for name, source in sources}


def read_source(
    session: SparkSession, pipeline: Pipeline, inputs: Inputs, name: str, source: Source
) -> DataFrame:
    """The rows of one source; as `read_prefix`.

    Args:
        session: To read with.
        inputs: From `inputs_of`.
        name: The source's.
        source: How it is read, where that is not as the spec says today.
    """
    if isinstance(source, FileSource):
        files = inputs.places.get(name, ())
        if files:
            with _listed_here(session):
                rows = of_files(session, source, [at for at, _ in files])
            listed = len(rows.inputFiles())
            if listed != len({at for at, _ in files}):
                raise _gone([file for _, file in files], listed=listed)
            return rows
    elif isinstance(source, KafkaSource):
        from tidemill.engine.recompute.kafka_prefix import read_ranges

        ranges = [one for read in inputs.reads for one in read.ranges.get(name, ())]
        if ranges:
            return read_ranges(session, source, name, ranges)
    return session.createDataFrame([], read_stream(session, pipeline, name).schema)


@contextmanager
def _listed_here(session: SparkSession) -> Iterator[None]:
    """Let the driver list given files by itself: a job with a task for each takes far longer."""
    before = session.conf.get(LISTING)
    session.conf.set(LISTING, str(2**31 - 1))
    try:
        yield
    finally:
        session.conf.set(LISTING, str(before))


def _gone(files: Sequence[InputFile], listed: int | None = None) -> InputGone:
    names = [file.path for file in files]
    first = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    why = "gone, or are other files" if listed is None else f"not all found: Spark has {listed}"
    return InputGone(
        f"{len(names)} files that batches have read are {why}: {first}.",
        remedy="Put them back as they were, or reject the increment that read them.",
        source=files[0].source,
        files=names[:MOST_NAMED],
        lost=len(names),
        why=why,
    )
