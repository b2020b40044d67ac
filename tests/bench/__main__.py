"""`make bench`: comparisons with what people write by hand, from one run on one machine."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from spark_jobs.contract.layout import Layout
from tests.bench import orders
from tests.bench.backfill import BackfillSides
from tests.bench.group import MEMBERS, GroupSides
from tests.bench.kafka import KafkaSides, kafka_sides
from tests.bench.measure import Cost, cost_of
from tests.bench.sides import CORES, FileSides

SHORT = 30


def compare(
    runs: int, ours: Callable[[], Cost], theirs: Callable[[], Cost]
) -> tuple[Cost, Cost, Cost]:
    """Medians of both sides, and the median of the ratios of runs made side by side."""
    pairs = [(ours(), theirs()) for _ in range(runs)]
    ratios = [mine / their for mine, their in pairs]
    return _median([mine for mine, _ in pairs]), _median([t for _, t in pairs]), _median(ratios)


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.wall for cost in costs), statistics.median(c.cpu for c in costs)
    )


def ingest_alone(bench: FileSides, megabytes: float, runs: int) -> tuple[Cost, Cost, Cost]:
    bench.input(megabytes=megabytes, files=8)

    def ours() -> Cost:
        bench.fresh()
        return cost_of([bench.ingest(bench.backlog)], bench.environ)

    return compare(runs, ours, lambda: cost_of([bench.hand_written("ingest")], bench.environ))


def small_increment(bench: FileSides, runs: int) -> tuple[Cost, Cost, Cost]:
    bench.input(megabytes=1, files=1)

    def ours() -> Cost:
        bench.fresh()
        return cost_of(bench.whole_run(bench.backlog), bench.environ)

    glue = [bench.hand_written("ingest"), bench.hand_written("quality")]
    return compare(runs, ours, lambda: cost_of(glue, bench.environ))


def nothing_to_do(bench: FileSides, runs: int) -> tuple[Cost, Cost, Cost]:
    """Both sides have already taken everything in when they are measured."""
    bench.input(megabytes=1, files=1)
    bench.fresh()
    cost_of(bench.whole_run(bench.backlog), bench.environ)
    cost_of([bench.hand_written("ingest")], bench.environ)
    assert Layout(bench.home / "ours", orders.NAME).table.is_dir()
    return compare(
        runs,
        lambda: cost_of([bench.step("doctor", "again")], bench.environ),
        lambda: cost_of([bench.hand_written("ingest")], bench.environ),
    )


def from_kafka(sides: KafkaSides, runs: int) -> tuple[Cost, Cost, Cost]:
    """From the topic to a table that consumers read, and by hand to the files of a stream."""

    def ours() -> Cost:
        sides.fresh()
        return cost_of(sides.whole_run(sides.backlog_bytes), sides.environ)

    return compare(runs, ours, lambda: cost_of([sides.by_hand()], sides.environ))


def ingest_from_kafka(sides: KafkaSides, runs: int) -> tuple[Cost, Cost, Cost]:
    def ours() -> Cost:
        sides.fresh()
        return cost_of([sides.ingest(sides.backlog_bytes)], sides.environ)

    return compare(runs, ours, lambda: cost_of([sides.by_hand()], sides.environ))


def group_of_ten(cost: Callable[[int], Cost], runs: int) -> tuple[Cost, Cost, Cost]:
    """All members of a group against one of them in a Spark application of its own."""
    return compare(runs, lambda: cost(MEMBERS), lambda: cost(1))


def _of_backfills(
    home: Path, given: argparse.Namespace
) -> list[tuple[str, tuple[Cost, Cost, Cost]]]:
    """One day out of a long history: against a tenth of it, and against reading all of it."""

    def sides(name: str, days: int, *, bound: bool) -> BackfillSides:
        return BackfillSides(home / name, days=days, megabytes=given.day, bound=bound)

    long, short = sides("long", given.days, bound=True), sides("short", SHORT, bound=True)
    unbound = sides("unbound", given.days, bound=False)
    return [
        (
            f"backfill of a day out of {given.days} / out of {SHORT}, lateness bound in both",
            compare(given.runs, long.one_day, short.one_day),
        ),
        (
            f"backfill of a day out of {given.days} with a lateness bound / without",
            compare(given.runs, long.one_day, unbound.one_day),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1024, help="of files; 0 for no files")
    parser.add_argument("--records", type=int, default=3_000_000, help="in Kafka; 0 for none")
    parser.add_argument("--group", type=float, default=0.1, help="MB a member; 0 for no group")
    parser.add_argument("--days", type=int, default=300, help="of a history; 0 for no backfill")
    parser.add_argument("--day", type=float, default=0.5, help="MB a day of it")
    parser.add_argument("--runs", type=int, default=3, help="pairs of each comparison")
    given = parser.parse_args()
    console = Console()
    table = Table("comparison", "this", "against that", "ratio wall", "ratio CPU")
    speeds: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tidemill-bench-") as home:
        if given.megabytes:
            for name, measured in _of_files(FileSides(Path(home) / "files"), given):
                with console.status(name):
                    table.add_row(name, *_cells(*measured()))
        if given.group:
            sides = GroupSides(Path(home) / "group", megabytes=given.group)
            for name, cost in (
                ("ingest", sides.ingest_of),
                ("whole run", sides.run_of),
                ("all tasks", sides.tasks_of),
            ):
                with console.status(name):
                    found = group_of_ten(cost, given.runs)
                table.add_row(f"{name} of a group of {MEMBERS} / of one", *_cells(*found))
        if given.days:
            with console.status("backfill of one day"):
                for name, found in _of_backfills(Path(home) / "backfill", given):
                    table.add_row(name, *_cells(*found))
        if given.records:
            with kafka_sides(Path(home) / "kafka", given.records) as sides:
                for name, measure in (("ingest", ingest_from_kafka), ("whole run", from_kafka)):
                    with console.status(name):
                        found = measure(sides, given.runs)
                    title = f"Kafka: {name} of {given.records:,} records / hand-written stream"
                    table.add_row(title, *_cells(*found))
                    speeds += [_speed(f"Kafka: {name}", given.records, found)]
    console.print(table)
    for speed in speeds:
        console.print(speed)


def _of_files(
    bench: FileSides, given: argparse.Namespace
) -> list[tuple[str, Callable[[], tuple[Cost, Cost, Cost]]]]:
    return [
        (
            f"ingest of {given.megabytes:g} MB / hand-written stream",
            lambda: ingest_alone(bench, given.megabytes, given.runs),
        ),
        (
            "whole small increment / spark-submit, then GX on Spark",
            lambda: small_increment(bench, given.runs),
        ),
        ("nothing to do / availableNow without data", lambda: nothing_to_do(bench, given.runs)),
    ]


def _cells(ours: Cost, theirs: Cost, ratio: Cost) -> tuple[str, str, str, str]:
    return _text(ours), _text(theirs), f"{ratio.wall:.2f}", f"{ratio.cpu:.2f}"


def _speed(name: str, records: int, found: tuple[Cost, Cost, Cost]) -> str:
    """Records per second of a core, by the clock and by the CPU-seconds that were used."""
    said = [
        f"{side} {records / cost.wall / CORES:,.0f} a second and core, "
        f"{records / cost.cpu:,.0f} a CPU-second"
        for side, cost in zip(("ours", "by hand"), found, strict=False)
    ]
    return f"{name}: {'; '.join(said)} (records, JVM start included)"


def _text(cost: Cost) -> str:
    return f"{cost.wall:.1f} s, {cost.cpu:.1f} CPU-s"


if __name__ == "__main__":
    main()
