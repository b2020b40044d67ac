"""How the shipped pipelines read a line, in plain Python: parsed, judged, or refused."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.oracle.history_facts import Fed, Refused, Slots
from tests.oracle.recorded import Row
from tests.oracle.times import ms_of_time
from tests.oracle.watermark import Watermarks

Rule = Callable[[Row], bool]
Takes = Callable[[str, Row], bool]
MALFORMED, TIMELESS = "malformed", "no event time"


def everything(source: str, row: Row) -> bool:
    """What the code takes of the good rows, where it takes all."""
    return True


def given(column: str) -> Rule:
    """That a column is not null."""
    return lambda row: row.get(column) is not None


def among(column: str, *values: str) -> Rule:
    """That a column is one of some values."""
    return lambda row: row.get(column) in values


def whole_reading(row: Row) -> bool:
    """That a phone felt something along each axis."""
    return all((row.get("reading") or {}).get(axis) is not None for axis in "xyz")


@dataclass(frozen=True)
class JsonModel:
    """A pipeline that reads JSON.

    Args:
        columns: The columns of the published table.
        rules: In the order of the spec.
        result: From the batches to the published rows.
        watermarks: None without one.
        passed_over: How many rows of a batch are late, each as often as an operator meets it.
        time: The column of the event time.
        decimals: The columns, dotted where nested, that are numbers.
        slots: The partitions, where they are compared.
        taken: Whether the code does anything with a good row.
    """

    columns: Sequence[str]
    rules: Mapping[str, Rule]
    result: Callable[[Sequence[Fed]], Counter[Any]]
    watermarks: Watermarks | None = None
    passed_over: Callable[[Fed], int] = lambda batch: 0
    time: str = "at"
    decimals: Sequence[str] = field(default=())
    slots: Slots | None = None
    taken: Takes = everything

    def parse(self, source: str, line: str) -> Row | Refused | None:
        try:
            row: Row = json.loads(line)
        except ValueError:
            return Refused(MALFORMED)
        if not all(_is_number(_inner(row, column)) for column in self.decimals):
            return Refused(MALFORMED)
        return _judged(row, self.time, self.rules)

    def takes(self, source: str, row: Row) -> bool:
        return self.taken(source, row)

    def event_time_ms(self, source: str, row: Row) -> int:
        return ms_of_time(row[self.time])

    def late(self, batch: Fed) -> int:
        return self.passed_over(batch)

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        return self.result(fed)


@dataclass(frozen=True)
class CsvModel:
    """A pipeline that reads CSV with a header.

    Args:
        columns: The columns of the published table.
        header: The header of the files.
        rules: In the order of the spec.
        numbers: Columns that are numbers, or nothing.
        time: The column of the event time.
        result: From the batches to the published rows.
        slots: The partitions, where they are compared.
        taken: Whether the code does anything with a good row.
    """

    columns: Sequence[str]
    header: Sequence[str]
    rules: Mapping[str, Rule]
    numbers: Sequence[str]
    time: str
    result: Callable[[Sequence[Fed]], Counter[Any]]
    watermarks: Watermarks | None = None
    slots: Slots | None = None
    taken: Takes = everything

    def parse(self, source: str, line: str) -> Row | Refused | None:
        values = next(csv.reader([line]))
        if values == [*self.header]:
            return None
        row = {name: value or None for name, value in zip(self.header, values, strict=False)}
        if len(values) != len(self.header) or not all(_is_number(row[n]) for n in self.numbers):
            return Refused(MALFORMED)
        return _judged(row, self.time, self.rules)

    def takes(self, source: str, row: Row) -> bool:
        return self.taken(source, row)

    def event_time_ms(self, source: str, row: Row) -> int:
        return ms_of_time(f"{row[self.time]}+00:00")

    def late(self, batch: Fed) -> int:
        return 0

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        return self.result(fed)


@dataclass(frozen=True)
class LineModel:
    """A pipeline that reads lines of text, all of them good and none of them of any time."""

    columns: Sequence[str]
    result: Callable[[Sequence[Fed]], Counter[Any]]
    watermarks: Watermarks | None = None
    slots: Slots | None = None
    taken: Takes = everything

    def parse(self, source: str, line: str) -> Row | Refused | None:
        return {"value": line}

    def takes(self, source: str, row: Row) -> bool:
        return self.taken(source, row)

    def event_time_ms(self, source: str, row: Row) -> int:
        return 0

    def late(self, batch: Fed) -> int:
        return 0

    def published(self, fed: Sequence[Fed]) -> Counter[Any]:
        return self.result(fed)


def _judged(row: Row, time: str, rules: Mapping[str, Rule]) -> Row | Refused:
    if row.get(time) is None:
        return Refused(TIMELESS)
    broken = next((name for name, rule in rules.items() if not rule(row)), None)
    return row if broken is None else Refused(f"rule {broken}", row)


def _inner(row: Any, column: str) -> Any:
    for name in column.split("."):
        row = None if row is None else row.get(name)
    return row


def _is_number(value: Any) -> bool:
    try:
        return value is None or Decimal(value) is not None
    except InvalidOperation:
        return False
