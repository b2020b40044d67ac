"""What `make bench` compares, one after the other."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from tests.bench import orders
from tests.bench.backfill import BackfillSides
from tests.bench.batches import SHORT as SHORT_BATCHES
from tests.bench.batches import batches_sides
from tests.bench.gate import GateSides
from tests.bench.group import MEMBERS, GroupSides
from tests.bench.kafka import KafkaSides, kafka_sides
from tests.bench.measure import Cost, cost_of
from tests.bench.page import PageSides
from tests.bench.past import FILES, PastSides
from tests.bench.past import SHORT as SHORT_PAST
from tests.bench.results import Comparison, Side
from tests.bench.sides import FileSides
from tests.bench.tables import READERS, ManyCommitsSides, ManyFilesSides
from tests.bench.template import FEW, TemplateSides
from tidemill.contract.layout import Layout
from tidemill.gate.gx_internals import quick_import

SHORT = 30
YEAR = 365


def comparisons(home: Path, given: argparse.Namespace) -> Iterator[Comparison]:
    """All that were asked for; what they share is there until the next one is taken.

    Args:
        home: An empty folder.
        given: The options of the command.
    """
    if given.megabytes:
        yield from _of_files(FileSides(home / "files"), given.megabytes)
    for rows in given.gate:
        yield _of_the_gate(home / f"gate-{rows}", rows)
    if given.table_files:
        yield from _of_many_files(home / "files-of-a-table", given.table_files, given.partitions)
    if given.increments:
        yield from _of_many_commits(home / "commits-of-a-table", given.increments)
    if given.group:
        yield from _of_a_group(GroupSides(home / "group", megabytes=given.group))
    if given.days:
        yield from _of_backfills(home / "backfill", given.days, given.day)
    if given.past:
        yield from _of_a_past(home / "past", given.past)
    if given.pipelines:
        page = partial(PageSides, home / "page", given.pipelines, YEAR)
        yield Comparison(
            f"page of {given.pipelines} pipelines with a year of days / without status documents",
            lambda: page().sides(),
        )
        yield from _of_a_template(home / "template", given.pipelines)
    if given.records:
        with kafka_sides(home / "kafka", given.records) as sides:
            yield from _of_kafka(sides, given.records)
    if given.batches:
        yield from _of_batches(given.kept_past, given.batches)


def _of_files(bench: FileSides, megabytes: float) -> Iterator[Comparison]:
    for form in ("csv", "json"):
        sides = FileSides(bench.home / form, form=form)
        yield Comparison(
            f"ingest of {megabytes:g} MB of {form.upper()} / hand-written stream",
            partial(ingest_alone, sides, megabytes),
        )
    yield Comparison(
        "whole small increment / spark-submit, then GX on Spark", partial(small_increment, bench)
    )
    yield Comparison("nothing to do / availableNow without data", partial(nothing_to_do, bench))
    yield Comparison("import of Great Expectations by the gate / whole", imports_of_gx)


def ingest_alone(bench: FileSides, megabytes: float) -> tuple[Side, Side]:
    bench.input(megabytes=megabytes, files=8)

    def ours() -> Cost:
        bench.fresh()
        return cost_of([bench.ingest(bench.backlog)], bench.our_environ)

    return ours, lambda: cost_of([bench.hand_written("ingest")], bench.environ)


def small_increment(bench: FileSides) -> tuple[Side, Side]:
    bench.input(megabytes=1, files=1)

    def ours() -> Cost:
        bench.fresh()
        return cost_of(bench.whole_run(bench.backlog), bench.our_environ)

    glue = [bench.hand_written("ingest"), bench.hand_written("quality")]
    return ours, lambda: cost_of(glue, bench.environ)


def nothing_to_do(bench: FileSides) -> tuple[Side, Side]:
    """Both sides have already taken everything in when they are measured."""
    bench.input(megabytes=1, files=1)
    bench.fresh()
    cost_of(bench.whole_run(bench.backlog), bench.our_environ)
    cost_of([bench.hand_written("ingest")], bench.environ)
    assert Layout(bench.home / "ours", orders.NAME).table.is_dir()
    return (
        lambda: cost_of([bench.step("doctor", "again")], bench.environ),
        lambda: cost_of([bench.hand_written("ingest")], bench.environ),
    )


def imports_of_gx() -> tuple[Side, Side]:
    """The import in a process of its own."""

    def cost(program: str) -> Side:
        return lambda: cost_of([[sys.executable, "-c", program]], os.environ)

    ours = f"from {quick_import.__name__} import import_great_expectations as run; run()"
    return cost(ours), cost("import great_expectations")


def _of_the_gate(home: Path, rows: int) -> Comparison:
    title = f"gate on Spark, 10 rules on {rows:,} rows / one aggregation by hand"
    return Comparison(title, lambda: GateSides(home, rows).sides(), rows)


def _of_many_files(home: Path, files: int, partitions: int) -> Iterator[Comparison]:
    """What becomes of many files at once, against Delta's commit of the same files."""
    sides = cache(partial(ManyFilesSides, home, files, partitions))
    what = f"{files:,} files in {partitions:,} partitions"
    yield Comparison(f"publish of {what} / commit by hand", lambda: sides().publish())
    yield Comparison(f"swap of {what} / overwrite by hand", lambda: sides().swap())
    yield Comparison(f"count of {what} / of a table by hand", lambda: sides().count())


def _of_many_commits(home: Path, increments: int) -> Iterator[Comparison]:
    """A table as it becomes with time, against one that was written at once."""
    sides = cache(partial(ManyCommitsSides, home, increments))
    for reader in READERS:
        title = f"table of {increments:,} increments read by {reader} / of one commit by hand"
        yield Comparison(title, partial(lambda reader: sides().read_by(reader), reader))


def _of_a_group(sides: GroupSides) -> Iterator[Comparison]:
    """All members of a group against one of them in a Spark application of its own."""

    def both(cost: Callable[[int], Cost]) -> tuple[Side, Side]:
        return partial(cost, MEMBERS), partial(cost, 1)

    for name, cost in (
        ("ingest", sides.ingest_of),
        ("whole run", sides.run_of),
        ("all tasks", sides.tasks_of),
    ):
        yield Comparison(f"{name} of a group of {MEMBERS} / of one", partial(both, cost))


def _of_a_past(home: Path, increments: int) -> Iterator[Comparison]:
    """What a run that finds nothing costs after many increments, Spark left out."""
    made: list[PastSides] = []

    def both(*steps: str) -> tuple[Side, Side]:
        if not made:
            made.append(PastSides(home, increments))
        return made[0].sides(*steps)

    for steps in (("doctor",), ("gate", "publish")):
        past = f"{increments} increments and {increments * FILES} files"
        title = f"idle {' and '.join(steps)} after {past} / after {SHORT_PAST} increments"
        yield Comparison(title, partial(both, *steps))


def _of_batches(home: Path, batches: int) -> Iterator[Comparison]:
    """What whole runs cost after many batches that Spark has run."""
    sides = batches_sides(home, batches)
    for of in ("idle run", "small increment"):
        title = f"{of} after {batches} batches of Spark / after {SHORT_BATCHES}"
        yield Comparison(title, partial(sides, of))


def _of_a_template(home: Path, pipelines: int) -> Iterator[Comparison]:
    """What many pipelines cost that come from one file."""
    sides = TemplateSides(home, pipelines)
    yield Comparison(f"DAGs of {pipelines} pipelines of a template / by hand", sides.dags)
    for command in ("check", "status"):
        title = f"tidemill {command} of {pipelines} pipelines of a template / of {FEW}"
        yield Comparison(title, partial(sides.command, command))


def _of_backfills(home: Path, days: int, megabytes: float) -> Iterator[Comparison]:
    """One day out of a long history: against a tenth of it, and against reading all of it."""
    made: dict[str, BackfillSides] = {}

    def sides(name: str, days: int, *, bound: bool) -> Side:
        if name not in made:
            made[name] = BackfillSides(home / name, days=days, megabytes=megabytes, bound=bound)
        return made[name].one_day

    def long() -> Side:
        return sides("long", days, bound=True)

    yield Comparison(
        f"backfill of a day out of {days} / out of {SHORT}, lateness bound in both",
        lambda: (long(), sides("short", SHORT, bound=True)),
    )
    yield Comparison(
        f"backfill of a day out of {days} with a lateness bound / without",
        lambda: (long(), sides("unbound", days, bound=False)),
    )


def _of_kafka(sides: KafkaSides, records: int) -> Iterator[Comparison]:
    """From the topic to files, or to a table that consumers read, and by hand to files."""

    def both(commands: Callable[[], list[list[str]]]) -> tuple[Side, Side]:
        def ours() -> Cost:
            sides.fresh()
            return cost_of(commands(), sides.our_environ)

        return ours, lambda: cost_of([sides.by_hand()], sides.environ)

    for name, commands in (
        ("ingest", lambda: [sides.ingest(sides.backlog_bytes)]),
        ("whole run", lambda: sides.whole_run(sides.backlog_bytes)),
    ):
        title = f"Kafka: {name} of {records:,} records / hand-written stream"
        yield Comparison(title, partial(both, commands), records)
