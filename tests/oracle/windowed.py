"""Rows counted in windows, in plain Python."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.promise import Fed
from tests.oracle.recorded import Row
from tests.oracle.watermark import MINUTE, Watermarks

COLUMNS = ("window", "word", "count")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of_ms(milliseconds: int) -> datetime:
    """A time, from milliseconds since the epoch."""
    return EPOCH + timedelta(milliseconds=milliseconds)


def ms_of_time(text: str) -> int:
    """Milliseconds since the epoch, from an ISO time with its zone."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)


def windows_of(time_ms: int, size_ms: int, slide_ms: int) -> list[tuple[int, int]]:
    """The windows that a time lies in, as begin and end."""
    latest = time_ms // slide_ms * slide_ms
    begins = range(latest, time_ms - size_ms, -slide_ms)
    return [(begin, begin + size_ms) for begin in begins]


@dataclass(frozen=True)
class WindowedCounts:
    """Words by window, once no more of them can come.

    Args:
        size: Minutes of a window.
        slide: Minutes from one to the next.
        delay: Of the watermark, in minutes.
    """

    size: int = 10
    slide: int = 5
    delay: int = 10
    columns: Sequence[str] = COLUMNS

    @property
    def watermarks(self) -> Watermarks:
        return Watermarks({"events": self.delay * MINUTE})

    def parse(self, source: str, line: str) -> Row | str:
        try:
            row: Row = json.loads(line)
        except ValueError:
            return "malformed"
        return row if row["at"] is not None else "no event time"

    def event_time_ms(self, source: str, row: Row) -> int:
        return ms_of_time(row["at"])

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        counts = Counter[tuple[int, int, str]]()
        for batch in fed:
            for row in batch.rows.get("events", ()):
                time = self.event_time_ms("events", row)
                for begin, end in windows_of(time, self.size * MINUTE, self.slide * MINUTE):
                    if end > batch.late_ms:
                        counts[begin, end, row["word"]] += 1
        final = fed[-1].watermark_ms if fed else 0
        return Counter(
            ((time_of_ms(begin), time_of_ms(end)), word, count)
            for (begin, end, word), count in counts.items()
            if end <= final
        )
