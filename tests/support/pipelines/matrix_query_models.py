"""What the queries, chains and operations of the matrix give out, computed in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from tests.support.pipelines.matrix_models import (
    EVENTS,
    FEED,
    LATE,
    STATIC,
    Event,
    Row,
    StreamJoin,
    clock,
    minutes,
    window,
)

# The events of a batch, and the watermark that ends state in it.
Batch = tuple[Sequence[Event], int]
BATCHES = ((FEED[0], 0), (FEED[1], minutes("12:30")), (FEED[2], minutes("19:50")))
IN_TIME = [*FEED[0], *FEED[1]]


# -- groups ----------------------------------------------------------------------------------------

Keys = Callable[[Event], Iterable[tuple[Row, int | None]]]
Value = Callable[[list[Event]], Row]


def counted(events: list[Event]) -> Row:
    return {"count": len(events)}


def grouped(
    keys: Keys, mode: str, value: Value = counted, batches: Sequence[Batch] = BATCHES
) -> list[Row]:
    """What an aggregation gives out over all batches.

    Args:
        keys: The groups of an event, each with its end in minutes; None where no watermark ends it.
        mode: Complete ends no group; what it gave last is the result.
        value: The further columns, from the events of a group.
        batches: Events with the watermark that ends groups after them.
    """
    groups: dict[str, tuple[Row, int | None, list[Event]]] = {}
    shown: list[Row] = []
    before = 0
    for events, watermark in batches:
        changed = {}
        for event in events:
            for key, end in keys(event):
                if mode == "complete" or end is None or end > before:
                    groups.setdefault(str(key), (key, end, []))[2].append(event)
                    changed[str(key)] = True
        if mode == "update":
            shown += [{**groups[one][0], **value(groups[one][2])} for one in changed]
        ended = [name for name, (_, end, _) in groups.items() if end and end <= watermark]
        if mode == "append":
            shown += [{**groups[one][0], **value(groups[one][2])} for one in ended]
        if mode != "complete":
            groups = {name: group for name, group in groups.items() if name not in ended}
        before = watermark
    if mode == "complete":
        return [{**key, **value(events)} for key, _, events in groups.values()]
    return shown


def by_window(length: int, name: str = "window", *, ids: bool = False, ends: bool = True) -> Keys:
    """Groups of a window of some minutes, and of the id where `ids` says so."""

    def keys(event: Event) -> list[tuple[Row, int | None]]:
        key = {name: window(event.at, length), **({"id": event.id} if ids else {})}
        return [(key, minutes(key[name].partition("-")[2]) if ends else None)]

    return keys


def by_columns(*sets: tuple[str, ...]) -> Keys:
    """Groups without an end, of each of some sets of columns."""
    return lambda event: [({name: getattr(event, name) for name in one}, None) for one in sets]


def sessions(mode: str) -> list[Row]:
    """Counts by id of events that are less than five minutes apart; no mode counts late ones."""
    found: dict[str, list[list[int]]] = defaultdict(list)
    for event in sorted(IN_TIME, key=lambda one: one.at):
        runs = found[event.id]
        if runs and event.at < runs[-1][-1] + 5:
            runs[-1].append(event.at)
        else:
            runs.append([event.at])
    return [
        {"id": name, "session_window": f"{clock(run[0])}-{clock(run[-1] + 5)}", "count": len(run)}
        for name, runs in found.items()
        for run in runs
        if mode == "complete" or run[-1] + 5 <= BATCHES[-1][1]
    ]


# -- one operator after another --------------------------------------------------------------------


def unique(events: Iterable[Event], *columns: str) -> list[Row]:
    """Each combination of some columns once."""
    rows = {tuple(getattr(event, name) for name in columns): event for event in events}
    return [row_of(event, *columns) for event in rows.values()]


def row_of(event: Event, *columns: str) -> Row:
    row = {**event._asdict(), "at": clock(event.at)}
    return {name: row[name] for name in columns}


def deduplicated() -> list[Batch]:
    """The events in time, each id and time once, by batch."""
    first = list(dict.fromkeys(FEED[0]))
    return [(first, BATCHES[0][1]), BATCHES[1], ([], BATCHES[2][1])]


def latest(*, late: bool) -> list[Batch]:
    """In each batch the latest time so far of each id in it.

    Args:
        late: Whether late events count.
    """
    times: dict[str, int] = {}
    batches = []
    for events, watermark in BATCHES:
        taken = [event for event in events if late or event not in LATE]
        for event in taken:
            times[event.id] = max(event.at, times.get(event.id, 0))
        names = dict.fromkeys(event.id for event in taken)
        batches.append(([Event(name, times[name], 0) for name in names], watermark))
    return batches


def lefts(how: str) -> list[Batch]:
    """The left rows that a join gives out, each in the batch where it has met its right one."""
    first, second = [], []
    for left, right in StreamJoin(how).pairs():
        if left:
            (first if left in FEED[0] and right in FEED[0] else second).append(left)
    return [(first, 0), (second, 0), ([], BATCHES[-1][1])]


def cascaded(how: str) -> list[Row]:
    """Left with right rows, and what comes of it with the right ones a second time."""
    join, rows = StreamJoin(how), []
    for left, right in ((left, right) for left, right in join.pairs() if left):
        thirds = [one for one in join.right if join.meet(left, one)]
        base = {"id": left.id, "at": clock(left.at)}
        second = {"other": right.id} if right else {}
        rows += [{**base, **second, "third": one.id, "later": clock(one.at)} for one in thirds]
        rows += [{**base, **second}] if not thirds and how == "left_outer" else []
    return rows


def windows(mode: str) -> list[Row]:
    return grouped(by_window(5, "w", ids=True), mode)


def rolled_up() -> list[Row]:
    """The counts of the windows that have ended, by hour."""
    hours: dict[str, int] = defaultdict(int)
    for row in windows("append"):
        hours[window(minutes(row["w"].partition("-")[0]), 60)] += row["count"]
    return [{"window": hour, "sum": count} for hour, count in hours.items()]


def windows_twice() -> list[Row]:
    return [{**row, "others": row["count"]} for row in windows("append")]


def most_frequent(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row["count"], row["id"]))[:2]


def distinct_ids(events: list[Event]) -> Row:
    return {"ids": len({event.id for event in events})}


def running(mode: str) -> list[Row]:
    return grouped(by_columns(("id",)), mode)


def latest_rows(*, late: bool) -> list[Row]:
    batches = latest(late=late)
    return [{"id": one.id, "then": clock(one.at)} for events, _ in batches for one in events]


# What each query of the matrix gives out, by output mode.
QUERIES: dict[str, Callable[[str], list[Row]]] = {
    "rows": lambda _: [{"id": event.id} for event in EVENTS],
    "join-with-static": lambda _: [{"id": event.id} for event in EVENTS if event.id in STATIC],
    "windows": windows,
    "windows-without-watermark": lambda mode: grouped(
        by_window(5, "w", ids=True, ends=False), mode
    ),
    "sessions": sessions,
    "running-aggregation": running,
    "deduplication": lambda _: unique(IN_TIME, "id", "at"),
    "deduplication-without-watermark": lambda _: unique(EVENTS, "id"),
    "deduplication-within-watermark": lambda _: unique(IN_TIME, "id"),
    "inner-join": lambda _: StreamJoin("inner").rows(),
    "outer-join": lambda _: StreamJoin("left_outer").rows(),
    "group-state-append": lambda _: latest_rows(late=True),
    "group-state-update": lambda _: latest_rows(late=True),
    "transform-with-state": lambda _: latest_rows(late=False),
    "windows > windows": lambda _: rolled_up(),
    "windows > deduplication": lambda _: [
        {"w": one} for one in {row["w"] for row in windows("append")}
    ],
    "windows > inner-join": lambda _: windows_twice(),
    "windows > outer-join": lambda _: windows_twice(),
    "deduplication > windows": lambda mode: grouped(
        by_window(60, "hour"), mode, batches=deduplicated()
    ),
    "inner-join > windows": lambda mode: grouped(
        by_window(60, "hour"), mode, batches=lefts("inner")
    ),
    "outer-join > windows": lambda mode: grouped(
        by_window(60, "hour"), mode, batches=lefts("left_outer")
    ),
    "inner-join > inner-join": lambda _: cascaded("inner"),
    "outer-join > outer-join": lambda _: cascaded("left_outer"),
    "group-state-append > running-aggregation": lambda mode: grouped(
        by_columns(("id",)), mode, batches=latest(late=True)
    ),
    "group-state-append > windows": lambda mode: grouped(
        by_window(60, ends=False), mode, batches=latest(late=True)
    ),
    "transform-with-state > windows": lambda mode: grouped(
        by_window(60), mode, batches=latest(late=False)
    ),
    "limit-of-aggregation": lambda mode: most_frequent(running(mode)),
    "distinct": lambda _: unique(IN_TIME, "id", "at", "n"),
    "distinct-in-sql": lambda mode: grouped(by_columns(("id",)), mode, lambda _: {}),
    "sort-of-aggregation": running,
    "approximate-distinct-count": lambda mode: grouped(by_window(60), mode, distinct_ids),
    "cube": lambda mode: grouped(by_columns(("id", "n"), ("id",), ("n",), ()), mode),
    "rollup": lambda mode: grouped(by_columns(("id", "n"), ("id",), ()), mode),
    "grouping-sets": lambda mode: grouped(by_columns(("id",), ("n",)), mode),
}
