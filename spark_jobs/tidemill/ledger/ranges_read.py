"""Which ranges of offsets or versions the batches of a generation read, by its ledger."""

from collections.abc import Mapping
from functools import cached_property

from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.losses import Losses
from tidemill.ledger.source_record import BoundSource
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file, read_initial_offsets
from tidemill.spark_logs.offset_ranges import Range, as_offsets, between, outside
from tidemill.spec.sources.kafka import Offsets
from tidemill.storage import documents

# A table's version is an offset of its only partition.
BY_RANGES = ("kafka", "table")


class RangesRead:
    """What was read of the sources whose positions are numbers: Kafka topics, published tables."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @cached_property
    def beginnings(self) -> Mapping[str, Offsets]:
        """Source -> the offsets that its first batch read from."""
        layout, generation = self._ledger.layout, self._ledger.generation
        files = {
            name: initial_offsets_file(layout, generation, name)
            for name in sorted(sources_by_ranges(layout, generation))
        }
        return {name: read_initial_offsets(file) or {} for name, file in files.items()}

    def ends(self, batch: Batch) -> dict[str, Offsets]:
        """Source -> the offsets after the last record that was read with a batch."""
        return {n: as_offsets(at) for n, at in batch.offsets.items() if n in self.beginnings}

    def read_by(self, batch: Batch, before: Batch | None) -> dict[str, tuple[Range, ...]]:
        """Source -> the records that a batch read, without those that had expired by then.

        Args:
            batch: A batch of the generation.
            before: The batch before it; None for the first.
        """
        started = {} if before is None else self.ends(before)
        found = {}
        for name, end in self.ends(batch).items():
            passed = between(started.get(name) or self.beginnings[name], end)
            if read := outside(passed, self._lost[name]):
                found[name] = read
        return found

    @cached_property
    def _lost(self) -> Mapping[str, list[Range]]:
        """Kafka source -> expired records, which a batch without rows has passed over."""
        layout, generation = self._ledger.layout, self._ledger.generation
        return {
            name: [one for loss in Losses(layout, generation, name).all() for one in loss.ranges]
            for name in self.beginnings
        }


def sources_by_ranges(layout: Layout, generation: str) -> set[str]:
    """The sources of a generation whose positions are offsets of topics, or versions of tables."""
    paths = sorted((layout.ledger(generation) / "sources").glob("*.json"))
    found = (documents.read(path, BoundSource) for path in paths)
    return {one.name for one in found if one is not None and one.kind in BY_RANGES}
