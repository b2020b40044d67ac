"""Checks of the promises a Python data source must keep for exactly-once publishing.

For a source of your own, with pytest:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_source_keeps_the_contract(check, subject):
        check(subject)

Spark asks more of a source than it can check: it plans a batch, may die, and then asks a fresh
reader, in another process, for the very same rows. No JVM is needed here.
"""

import copy
import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.types import _make_type_verifier

from tidemill.data_sources.subject import Offset, Reading, Subject, struct_of

# Enough to meet every page and partition of a small subject, and an end for one that has none.
__all__ = ["CHECKS", "ContractBroken", "Subject"]

MOST_STEPS = 200


class ContractBroken(AssertionError):
    """A source does not keep what exactly-once rests on."""


def offsets_are_json(subject: Subject) -> None:
    """An offset is in the checkpoint as JSON, and comes back from there."""
    for offset in _ends(subject):
        try:
            same = json.loads(json.dumps(offset)) == offset
        except (TypeError, ValueError):
            same = False
        _must(same, f"offset {offset!r} is not what JSON gives back")


def rows_fit_the_schema(subject: Subject) -> None:
    """Every row has the schema's columns, in their types."""
    verify = _make_type_verifier(struct_of(subject.schema))
    start, end = _ends(subject)
    rows = Reading(subject).rows(start, end)
    _must(bool(rows), "the source has no row at all: give the kit one with some")
    for row in rows:
        try:
            verify(row)
        except Exception as error:
            msg = f"row {row!r} does not fit {subject.schema}: {error}"
            raise ContractBroken(msg) from error


def same_offsets_give_the_same_rows(subject: Subject) -> None:
    """A range can be read again by another reader, also when more has arrived."""
    start, end = _ends(subject)
    first = _counted(Reading(subject).rows(start, end))
    _must(_counted(Reading(subject).rows(start, end)) == first, "a second read gives other rows")
    subject.grow()
    again = _counted(Reading(subject).rows(start, end))
    _must(again == first, f"once more has arrived, {start} to {end} gives other rows")


def offsets_only_grow(subject: Subject) -> None:
    """What arrives moves the offset and comes after it; where nothing arrives, it stays."""
    start, end = _ends(subject)
    before = _counted(Reading(subject).rows(start, end))
    _must(Reading(subject).latest(end) == end, "the offset moves though nothing arrived")
    _must(not Reading(subject).rows(end, end), "an empty range has rows")
    subject.grow()
    later = _last(subject, end)
    _must(later != end, "the offset stays though something arrived")
    added = _counted(Reading(subject).rows(end, later))
    _must(bool(added), f"{end} to {later} has no row though something arrived")
    whole = _counted(Reading(subject).rows(start, later))
    _must(whole == before + added, f"{start} to {later} is not its two parts")


def restarts_from_any_offset(subject: Subject) -> None:
    """From every offset on the way a fresh reader reads the rest, and nothing else."""
    offsets = _steps(subject)
    parts = [_counted(Reading(subject).rows(*pair)) for pair in pairwise(offsets)]
    for number, offset in enumerate(offsets):
        rest = _counted(Reading(subject).rows(offset, offsets[-1]))
        _must(rest == sum(parts[number:], Counter()), f"from {offset} on, the rest is not all")


def partitions_cover_a_range_once(subject: Subject) -> None:
    """The partitions of a range hold each of its rows in one of them, wherever they are read."""
    offsets = _steps(subject)
    start, end = offsets[0], offsets[-1]
    _must(not Reading(subject).partitions(end, end), "an empty range has partitions")
    each = Counter[str]()
    for partition in Reading(subject).partitions(start, end):
        sent = cloudpickle.loads(cloudpickle.dumps(partition))  # type: ignore[no-untyped-call]
        each += _counted(Reading(subject).read(sent))
    one_by_one = sum((_counted(Reading(subject).rows(*p)) for p in pairwise(offsets)), Counter())
    _must(each == one_by_one, f"the partitions of {start} to {end} overlap or leave rows out")


def commit_is_idempotent(subject: Subject) -> None:
    """A commit may come twice, late or never, and takes no row away: backfills read them again."""
    start, end = _ends(subject)
    before = _counted(Reading(subject).rows(start, end))
    for offset in (end, end, start):
        Reading(subject).commit(offset)
    after = _counted(Reading(subject).rows(start, end))
    _must(after == before, f"after commits, {start} to {end} gives other rows")


def one_run_takes_all_there_is(subject: Subject) -> None:
    """With the trigger availableNow a run takes what was there when it began, all and no more.

    Spark asks a reader once, unless it mixes in `SupportsTriggerAvailableNow`: then it tells it of
    the trigger, and asks until nothing more comes.
    """
    start, end = _ends(subject)
    there = _counted(Reading(subject).rows(start, end))
    reading = Reading(subject)
    if reading.prepares:
        reading.prepare()
        subject.grow()
        taken = _follow(reading, start)
    else:
        taken = reading.latest(start)
    found = _counted(Reading(subject).rows(start, taken))
    left, beyond = sum((there - found).values()), sum((found - there).values())
    _must(not left, f"a run leaves {left} rows: mix in SupportsTriggerAvailableNow")
    _must(not beyond, f"a run takes {beyond} rows that arrived after it began")


def a_simple_reader_gives_what_it_gives_again(subject: Subject) -> None:
    """What `read` hands out can be copied, as Spark does, and is what the range gives later."""
    reading = Reading(subject)
    if not reading.simple:
        return
    start = reading.initial()
    rows, end = reading.reader.read(start)
    try:
        copied = list(copy.copy(rows))
    except TypeError as error:
        msg = "read() gives an iterator that cannot be copied; return iter([...])"
        raise ContractBroken(msg) from error
    again = _counted(Reading(subject).rows(start, end))
    _must(_counted(copied) == again, f"read() and {start} to {end} give other rows")


CHECKS: tuple[Callable[[Subject], None], ...] = (
    offsets_are_json,
    rows_fit_the_schema,
    same_offsets_give_the_same_rows,
    offsets_only_grow,
    restarts_from_any_offset,
    partitions_cover_a_range_once,
    commit_is_idempotent,
    one_run_takes_all_there_is,
    a_simple_reader_gives_what_it_gives_again,
)


def _ends(subject: Subject) -> tuple[Offset, Offset]:
    start = Reading(subject).initial()
    return start, _last(subject, start)


def _last(subject: Subject, start: Offset) -> Offset:
    return _follow(Reading(subject), start)


def _follow(reading: Reading, start: Offset) -> Offset:
    """Where a reader ends that is asked again and again."""
    for _ in range(MOST_STEPS):
        end = reading.latest(start)
        if end == start:
            return end
        start = end
    msg = f"the offset still moves after {MOST_STEPS} steps, to {start}"
    raise ContractBroken(msg)


def _steps(subject: Subject) -> list[Offset]:
    """As many offsets on the way as the source makes: of small reads, and after growth."""
    offsets = [Reading(subject).initial()]
    for growths in range(3):
        if growths:
            subject.grow()
        for _ in range(MOST_STEPS):
            end = Reading(subject).latest(offsets[-1], rows=1)
            if end == offsets[-1]:
                break
            offsets.append(end)
    return offsets


def _counted(rows: list[Any]) -> Counter[str]:
    return Counter(map(repr, rows))


def _must(kept: bool, broken: str) -> None:
    if not kept:
        raise ContractBroken(broken)
