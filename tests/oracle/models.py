"""The results of the shipped pipelines in plain Python: joined, counted and taken once by hand."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.oracle.history_facts import Fed
from tests.oracle.recorded import Row
from tests.oracle.times import EPOCH, HOUR, MINUTE, ms_of_time, time_of_ms, windows_of

WORD = re.compile(r"[^\W_]+")


def mean(values: Sequence[Decimal]) -> Decimal:
    """Spark's mean of decimals with two digits: four digits more, halves away from zero."""
    exact = sum(values, Decimal(0)) / len(values)
    return exact.quantize(Decimal("0.000001"), ROUND_HALF_UP)


def word_count(fed: Sequence[Fed]) -> Counter[Any]:
    said = Counter(w for _, row in _rows(fed, "lines") for w in WORD.findall(row["value"].lower()))
    return Counter(said.items())


def windowed_words(fed: Sequence[Fed]) -> Counter[Any]:
    counts = Counter[tuple[int, int, str]]()
    for batch, row in _rows(fed, "lines"):
        for begin, end in windows_of(ms_of_time(row["at"]), 10 * MINUTE, 5 * MINUTE):
            if end > batch.late_ms:
                counts.update((begin, end, word) for word in WORD.findall(row["text"].lower()))
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


def ad_clicks_inner(fed: Sequence[Fed]) -> Counter[Any]:
    return Counter(found for found in ad_clicks(fed).elements() if found[2] is not None)


def ad_clicks(fed: Sequence[Fed]) -> Counter[Any]:
    shown = [row for _, row in _in_time(fed, "impressions")]
    clicked = [row for _, row in _in_time(fed, "clicks")]
    found = Counter[Any]()
    for ad in shown:
        at = ms_of_time(ad["at"])
        clicks = [ms_of_time(click["at"]) for click in clicked if click["ad"] == ad["ad"]]
        followed = [click for click in clicks if at <= click <= at + HOUR]
        found.update((ad["ad"], time_of_ms(at), time_of_ms(click)) for click in followed)
        # Spark says that no click will come once the watermark is past the bound, not yet at it.
        if not followed and at + HOUR < _final(fed):
            found[ad["ad"], time_of_ms(at), None] += 1
    return found


def unique_events(fed: Sequence[Fed]) -> Counter[Any]:
    return Counter({(row["id"],) for _, row in _in_time(fed, "events")})


def customer_hours(fed: Sequence[Fed]) -> Counter[Any]:
    """Each action with the customers' names as they were in its batch."""
    counts = Counter[tuple[int, str, str]]()
    for batch, row in _rows(fed, "actions"):
        hour = ms_of_time(row["at"]) // HOUR * HOUR
        names = _table(batch, "customers")
        if hour + HOUR > batch.late_ms and row["customer_id"] in names:
            counts[hour, row["customer_id"], names[row["customer_id"]][0]] += 1
    return Counter(
        (time_of_ms(hour), customer, name, count)
        for (hour, customer, name), count in counts.items()
        if hour + HOUR <= _final(fed)
    )


def click_revenue(fed: Sequence[Fed]) -> Counter[Any]:
    """Each click with the campaign and the price as they were in its batch."""
    found = Counter[Any]()
    for batch, row in _rows(fed, "clicks"):
        campaign, price = _table(batch, "impressions").get(row["ad"], (None, None))
        found[row["click"], row["ad"], campaign, None if price is None else Decimal(price)] += 1
    return found


def sensor_baselines(fed: Sequence[Fed]) -> Counter[Any]:
    found: dict[str, list[Row]] = defaultdict(list)
    for _, row in _rows(fed, "readings"):
        found[row["sensor"]].append(row)
    return Counter((sensor, len(rows), *_of_values(rows)) for sensor, rows in found.items())


def activity(fed: Sequence[Fed]) -> Counter[Any]:
    return Counter(_felt(row) for _, row in _rows(fed, "readings"))


def _felt(row: Row) -> tuple[Any, ...]:
    felt = [float(row["reading"][axis]) for axis in "xyz"]
    return (
        row["Index"],
        row["User"],
        datetime.fromisoformat(row["Arrival_Time"]),
        EPOCH + timedelta(microseconds=row["Creation_Time"] // 1000),
        None if row["gt"] == "null" else row["gt"],
        row["phone"]["model"],
        row["phone"]["device"],
        tuple(struct.unpack("f", struct.pack("f", value))[0] for value in felt),
        math.sqrt(felt[0] * felt[0] + felt[1] * felt[1] + felt[2] * felt[2]),
        tuple(row["tags"]),
    )


def retail_daily(fed: Sequence[Fed]) -> Counter[Any]:
    lines: dict[tuple[date, str], list[Row]] = defaultdict(list)
    for _, row in _rows(fed, "invoices"):
        lines[datetime.fromisoformat(row["InvoiceDate"]).date(), row["Country"]].append(row)
    return Counter((*key, *_of_invoices(rows)) for key, rows in lines.items())


def _of_invoices(rows: Sequence[Row]) -> tuple[Any, ...]:
    numbers = {row["InvoiceNo"] for row in rows}
    cancelled = {number for number in numbers if number.startswith("C")}
    amounts = [(row["InvoiceNo"], int(row["Quantity"]) * Decimal(row["UnitPrice"])) for row in rows]
    revenue = sum((amount for _, amount in amounts), Decimal(0))
    back = sum((amount for number, amount in amounts if number in cancelled), Decimal(0))
    return len(numbers - cancelled), len(cancelled), revenue, back


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


def late_by_time(batch: Fed) -> int:
    """Late rows of a join, a deduplication or a user's own state, each once."""
    rows = [row for found in batch.rows.values() for row in found]
    return sum(ms_of_time(row["at"]) <= batch.late_ms for row in rows)


def late_words(batch: Fed) -> int:
    """Each word for each of its windows that is closed."""
    return sum(
        _closed(batch, row, 10 * MINUTE) * len(WORD.findall(row["text"]))
        for row in batch.rows.get("lines", ())
    )


def late_readings(batch: Fed) -> int:
    """Each reading for each of its windows of both shapes that is closed."""
    sizes = (5 * MINUTE, 10 * MINUTE)
    rows = batch.rows.get("readings", ())
    return sum(_closed(batch, row, size) for row in rows for size in sizes)


def late_actions(batch: Fed) -> int:
    """Those of customers, as the others do not come to the aggregation."""
    names = _table(batch, "customers")
    return sum(
        ms_of_time(row["at"]) // HOUR * HOUR + HOUR <= batch.late_ms
        for row in batch.rows.get("actions", ())
        if row["customer_id"] in names
    )


def _closed(batch: Fed, row: Row, size: int) -> int:
    windows = windows_of(ms_of_time(row["at"]), size, 5 * MINUTE)
    return sum(end <= batch.late_ms for _, end in windows)


def _table(batch: Fed, static: str) -> dict[str, tuple[str, ...]]:
    """A static table of one file of CSV, by its first column, as it was in a batch."""
    (lines,) = (lines for path, lines in batch.statics.items() if f"/{static}/" in path)
    rows = [tuple(line.split(",")) for line in lines[1:]]
    return {row[0]: row[1:] for row in rows}


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
