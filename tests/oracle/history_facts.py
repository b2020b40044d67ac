"""What a history gave a pipeline, what people asked of it, and what a model makes of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from tests.oracle.recorded import Row
from tests.oracle.watermark import Watermarks

Statics = Mapping[str, tuple[str, ...]]
# A source with the name of a file, or the place of a record.
Input = tuple[str, str]
HOURS = "%Y-%m-%d %H"


class Refused(NamedTuple):
    """A line that is rejected.

    Args:
        reason: As it stands in the table.
        row: What it says, where that is known to have an event time.
    """

    reason: str
    row: Row | None = None


@dataclass(frozen=True)
class Slots:
    """The partitions of a pipeline's rows: hours, as the text that names them.

    Args:
        column: The column of the published table.
        time: The time of the rows read, where these have partitions.
        result: Where else the time is in a row of the result.
        read: The time of rows read, where only those of the result have partitions: by it rejected
            rows go.
        forgives: Whether rows that were late count once their partition is computed again.
        open_ms: How long after its hour a partition of windows is final.
    """

    column: str
    time: str = ""
    result: int = 0
    read: str = ""
    forgives: bool = False
    open_ms: int = 0

    def of_row(self, row: Row) -> str:
        """The hour of a row that is read, good or rejected."""
        return f"{datetime.fromisoformat(row[self.time or self.read]):{HOURS}}"

    def of_result(self, found: tuple[Any, ...]) -> str:
        """The hour of a row of the result."""
        return f"{found[self.result]:{HOURS}}"


@dataclass(frozen=True)
class Fed:
    """A batch with its good rows.

    Args:
        number: Its id.
        rows: Source -> the rows that were read and not rejected, and that the code takes.
        late_ms: Rows of up to this event time are late: the watermark of the batch before.
        watermark_ms: What is final in this batch: its own watermark.
        statics: File -> its lines, as they were when the batch was planned.
    """

    number: int
    rows: Mapping[str, Sequence[Row]]
    late_ms: int
    watermark_ms: int
    statics: Statics


class Model(Protocol):
    """A pipeline in plain Python, by one version of its code and rules."""

    @property
    def watermarks(self) -> Watermarks | None:
        """How its watermarks go; None without one."""

    @property
    def columns(self) -> Sequence[str]:
        """The published columns that are compared."""

    @property
    def slots(self) -> Slots | None:
        """The partitions of its rows, where they are compared; None where they are not."""

    def parse(self, source: str, line: str) -> Row | Refused | None:
        """A line of input as a row, or why it is rejected; None for one that is not one."""

    def takes(self, source: str, row: Row) -> bool:
        """Whether the code does anything with a good row."""

    def event_time_ms(self, source: str, row: Row) -> int:
        """When a row happened."""

    def late(self, batch: Fed) -> int:
        """How many rows of a batch its operators pass over, each as often as they meet it."""

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        """What is published once these batches are, as a multiset of tuples by `columns`."""


@dataclass(frozen=True)
class Swap:
    """Whole partitions were computed again.

    Args:
        upto: The last batch whose input counted.
        slots: The partitions.
        model: By which version of code and rules.
        without: Input that did not count.
    """

    upto: int
    slots: Set[str]
    model: Model
    without: Set[Input]


@dataclass(frozen=True)
class Reinstated:
    """Rejected input counts again, by a version of code and rules.

    Args:
        inputs: Each with the static inputs as they were when it was read.
        model: The model of the version.
    """

    inputs: Mapping[Input, Statics]
    model: Model


@dataclass
class Given:
    """What a history gave a pipeline so far, as whoever gave it remembers.

    Args:
        arrived: Source -> file, or place of a record -> its lines.
        starts: The batches with which a start of its query began.
        passed_over: The batches that the sink held already when a start ran them again: Spark
            computes nothing of them then, and sees no event time.
        statics: Batch -> the static inputs as they were when it was planned.
        whole: Whether all that arrived must have been read.
        torn: Whether a publish may have been cut short: rejected rows come before the others.
        flushed: Batch -> the watermark that a person gave it.
        generation: The live one; the batches are its.
        models: Batch -> the version that computed it, where it is not the first.
        left_out: Input that no batch of this generation counts.
        without: What of it a person rejected and did not reinstate.
        asked: What was computed again, in the order in which it went out.
    """

    arrived: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    starts: set[int] = field(default_factory=set)
    passed_over: set[int] = field(default_factory=set)
    statics: dict[int, Statics] = field(default_factory=dict)
    whole: bool = False
    torn: bool = False
    flushed: dict[int, int] = field(default_factory=dict)
    generation: str = "live-0001"
    models: dict[int, Model] = field(default_factory=dict)
    left_out: set[Input] = field(default_factory=set)
    without: set[Input] = field(default_factory=set)
    asked: list[Swap | Reinstated] = field(default_factory=list)

    def version(self, first: Model) -> Callable[[int], Model]:
        """By which version each batch was computed.

        Args:
            first: The one that the pipeline began with.
        """
        return lambda batch: self.models.get(batch, first)
