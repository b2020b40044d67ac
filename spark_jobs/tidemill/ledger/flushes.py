"""Flushes: a person raises the watermark, so that open windows, joins and timers close.

A flush is written down under the number of the batch that carries it out, before that batch is
planned. A recomputation that goes through the same batches repeats it at the same place.
"""

from datetime import datetime
from pathlib import Path

from tidemill.contract.document import Document
from tidemill.contract.layout import Layout
from tidemill.storage import documents


class Flush(Document):
    """One of them.

    Attributes:
        batch: The batch that carries it out; it reads nothing.
        watermark_ms: The watermark of that batch, in milliseconds since the epoch.
        by: Who asked, as they say.
        os_user: Operating-system user of that process; None in older documents.
    """

    batch: int
    watermark_ms: int
    by: str
    os_user: str | None = None
    reason: str
    asked: datetime


def read_flush(layout: Layout, generation: str, batch: int) -> Flush | None:
    """The flush that a batch carries out, if it carries out one."""
    return documents.read(_path(layout, generation, batch), Flush)


def flushes(layout: Layout, generation: str) -> list[Flush]:
    """All of a generation, in order."""
    folder = _path(layout, generation, 0).parent
    found = [documents.read(path, Flush) for _, path in documents.numbered(folder)]
    return [flush for flush in found if flush is not None]


def put_flush(layout: Layout, generation: str, flush: Flush) -> Flush:
    """Write one down, unless that batch carries out another; the one that it carries out."""
    return documents.put_if_absent(_path(layout, generation, flush.batch), flush)


def _path(layout: Layout, generation: str, batch: int) -> Path:
    return layout.ledger(generation) / "flushes" / f"{batch:06d}.json"
