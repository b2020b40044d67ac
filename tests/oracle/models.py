"""Shipped pipelines in plain Python: parse, join, count and deduplicate by hand."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.oracle.promise import Fed
from tests.oracle.recorded import Row
from tests.oracle.watermark import MINUTE, Watermarks

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = 60 * MINUTE
WORD = re.compile(r"[^\W_]+")


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


def mean(values: Sequence[Decimal]) -> Decimal:
    """Spark's mean of decimals with two digits: four digits more, halves away from zero."""
    exact = sum(values, Decimal(0)) / len(values)
    return exact.quantize(Decimal("0.000001"), ROUND_HALF_UP)


@dataclass(frozen=True)
class JsonModel:
    """A pipeline that reads JSON with the event time `at`.

    Args:
        columns: Of the published table.
        rules: Name -> column that may not be null, in the order of the spec.
        result: From the batches to the published rows.
        watermarks: None without one.
    """

    columns: Sequence[str]
    rules: dict[str, str]
    result: Callable[[Sequence[Fed]], Counter[Any]]
    watermarks: Watermarks | None = None

    def parse(self, source: str, line: str) -> Row | str:
        try:
            row: Row = json.loads(line)
        except ValueError:
            return "malformed"
        if row.get("at") is None:
            return "no event time"
        broken = (rule for rule, column in self.rules.items() if row.get(column) is None)
        rule = next(broken, None)
        return row if rule is None else f"rule {rule}"

    def event_time_ms(self, source: str, row: Row) -> int:
        return ms_of_time(row["at"])

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        return self.result(fed)


@dataclass(frozen=True)
class Lines:
    """Running counts of the words of all text."""

    columns: Sequence[str] = ("word", "count")
    watermarks: Watermarks | None = None

    def parse(self, source: str, line: str) -> Row | str:
        return {"value": line}

    def event_time_ms(self, source: str, row: Row) -> int:
        return 0

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        said = Counter(w for _, row in _rows(fed, "lines") for w in WORD.findall(row["value"]))
        return Counter(said.items())


def windowed_words(fed: Sequence[Fed]) -> Counter[Any]:
    counts = Counter[tuple[int, int, str]]()
    for batch, row in _rows(fed, "lines"):
        for begin, end in windows_of(ms_of_time(row["at"]), 10 * MINUTE, 5 * MINUTE):
            if end > batch.late_ms:
                counts.update((begin, end, word) for word in WORD.findall(row["text"]))
    return Counter(
        (time_of_ms(begin), time_of_ms(end), word, count)
        for (begin, end, word), count in counts.items()
        if end <= _final(fed)
    )


def device_signals(fed: Sequence[Fed]) -> Counter[Any]:
    return Counter(
        (row["device"], Decimal(row["signal"]))
        for _, row in _rows(fed, "reports")
        if Decimal(row["signal"]) > 10
    )


def device_totals(fed: Sequence[Fed]) -> Counter[Any]:
    signals: dict[str, list[Decimal]] = defaultdict(list)
    for _, row in _rows(fed, "reports"):
        signals[row["type"]].append(Decimal(row["signal"]))
    return Counter((kind, len(found), mean(found)) for kind, found in signals.items())


def sensor_windows(fed: Sequence[Fed]) -> Counter[Any]:
    found: dict[tuple[str, int, int, str], list[Row]] = defaultdict(list)
    for batch, row in _rows(fed, "readings"):
        for shape, size in (("tumbling", 5 * MINUTE), ("sliding", 10 * MINUTE)):
            for begin, end in windows_of(ms_of_time(row["at"]), size, 5 * MINUTE):
                if end > batch.late_ms:
                    found[shape, begin, end, row["sensor"]].append(row)
    return Counter(
        (shape, time_of_ms(begin), sensor, len(rows), *_of_values(rows))
        for (shape, begin, end, sensor), rows in found.items()
        if end <= _final(fed)
    )


def _of_values(rows: Sequence[Row]) -> tuple[Any, ...]:
    values = [Decimal(row["value"]) for row in rows]
    codes = {row["error_code"] for row in rows if row["error_code"] is not None}
    return mean(values), min(values), max(values), tuple(sorted(codes))


def ad_clicks(fed: Sequence[Fed]) -> Counter[Any]:
    shown = [row for _, row in _in_time(fed, "impressions")]
    clicked = [row for _, row in _in_time(fed, "clicks")]
    found = Counter[Any]()
    for ad in shown:
        at = ms_of_time(ad["at"])
        clicks = [ms_of_time(click["at"]) for click in clicked if click["ad"] == ad["ad"]]
        followed = [click for click in clicks if at <= click <= at + HOUR]
        found.update((ad["ad"], time_of_ms(at), time_of_ms(click)) for click in followed)
        # Without a click it is certain once none can come any more.
        if not followed and at + HOUR <= _final(fed):
            found[ad["ad"], time_of_ms(at), None] += 1
    return found


def unique_events(fed: Sequence[Fed]) -> Counter[Any]:
    return Counter({(row["id"],) for _, row in _in_time(fed, "events")})


def customer_hours(names: dict[str, str]) -> Callable[[Sequence[Fed]], Counter[Any]]:
    def result(fed: Sequence[Fed]) -> Counter[Any]:
        counts = Counter[tuple[int, str]]()
        for batch, row in _rows(fed, "actions"):
            hour = ms_of_time(row["at"]) // HOUR * HOUR
            if hour + HOUR > batch.late_ms and row["customer_id"] in names:
                counts[hour, row["customer_id"]] += 1
        return Counter(
            (time_of_ms(hour), customer, names[customer], count)
            for (hour, customer), count in counts.items()
            if hour + HOUR <= _final(fed)
        )

    return result


def click_revenue(prices: dict[str, str]) -> Callable[[Sequence[Fed]], Counter[Any]]:
    def result(fed: Sequence[Fed]) -> Counter[Any]:
        return Counter(
            (row["click"], Decimal(prices[row["ad"]]) if row["ad"] in prices else None)
            for _, row in _rows(fed, "clicks")
        )

    return result


def user_sessions(fed: Sequence[Fed]) -> Counter[Any]:
    by_user: dict[str, list[tuple[int, str]]] = defaultdict(list)
    now = _final(fed)
    for _, row in _in_time(fed, "actions"):
        if ms_of_time(row["at"]) <= now:
            by_user[row["user"]].append((ms_of_time(row["at"]), row["action"]))
    found = Counter[Any]()
    for user, actions in by_user.items():
        found.update((user, time_of_ms(at), said) for at, said in _statuses(sorted(actions), now))
    return found


def _statuses(actions: Sequence[tuple[int, str]], now: int) -> Iterator[tuple[int, str]]:
    """What is said of one user: half an hour without an action ends a session."""
    gap, last, failed = 30 * MINUTE, None, 0
    for at, action in actions:
        if last is None or last + gap <= at:
            if last is not None:
                yield last + gap, "inactive"
            yield at, "active"
            failed = 0
        last = at
        failed = {"login_failed": failed + 1, "login": 0}.get(action, failed)
        if failed == 3:
            yield at, "alert"
            failed = 0
    if last is not None and last + gap <= now:
        yield last + gap, "inactive"


def _rows(fed: Sequence[Fed], source: str) -> Iterator[tuple[Fed, Row]]:
    for batch in fed:
        for row in batch.rows.get(source, ()):
            yield batch, row


def _in_time(fed: Sequence[Fed], source: str) -> Iterator[tuple[Fed, Row]]:
    """The rows that are not late by their own time."""
    for batch, row in _rows(fed, source):
        if ms_of_time(row["at"]) > batch.late_ms:
            yield batch, row


def _final(fed: Sequence[Fed]) -> int:
    """Up to when nothing changes any more."""
    return fed[-1].watermark_ms if fed else 0
