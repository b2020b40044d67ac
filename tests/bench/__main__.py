"""`make bench`: comparisons with what people write by hand, from one run on one machine."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.comparisons import comparisons
from tests.bench.results import Results, say, speed_of, text_of
from tidemill.contract.errors import UsageError
from tidemill.contract.project import REPOSITORY
from tidemill.toolchain.jars import jars_of

# Columns of the summary in a file or a pipe: its longest name and figures.
WIDTH = 220
KEPT = REPOSITORY / ".artefacts" / "bench.json"
KEPT_PAST = REPOSITORY / ".artefacts" / "bench-past"


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        # What would else be missed after the better part of an hour.
        if given.records:
            jars_of("kafka", "broker")
    except UsageError as error:
        print(f"{error}\n{error.remedy}", file=sys.stderr)
        return 2
    results, failed = Results(given.out, given.runs), 0
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tidemill-bench-") as home,
            closing(comparisons(Path(home), given)) as planned,
        ):
            for comparison in planned:
                try:
                    results.measure(comparison)
                except RuntimeError as error:
                    # The others are worth their time without it.
                    failed += 1
                    print(f"{comparison.name} failed: {error}", file=sys.stderr, flush=True)
    finally:
        _summarise(results)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1024, help="of files; 0 for no files")
    parser.add_argument("--records", type=int, default=3_000_000, help="in Kafka; 0 for none")
    parser.add_argument(
        "--gate",
        type=int,
        nargs="*",
        default=[1_000_000, 10_000_000, 100_000_000],
        help="rows that are judged on Spark; without a number no such comparison",
    )
    parser.add_argument("--table-files", type=int, default=10_000, help="0 for no such table")
    parser.add_argument("--partitions", type=int, default=1000, help="that those files are in")
    parser.add_argument(
        "--increments", type=int, default=1000, help="of a table that is read; 0 for none"
    )
    parser.add_argument("--group", type=float, default=0.1, help="MB a member; 0 for no group")
    parser.add_argument("--days", type=int, default=300, help="of a history; 0 for no backfill")
    parser.add_argument("--day", type=float, default=0.5, help="MB a day of it")
    parser.add_argument(
        "--pipelines", type=int, default=500, help="on the page and of a template; 0 for neither"
    )
    parser.add_argument("--past", type=int, default=50_000, help="past increments; 0 for none")
    parser.add_argument(
        "--batches",
        type=int,
        default=3000,
        help="of Spark, run before whole runs are measured; 0 for none",
    )
    parser.add_argument(
        "--kept-past",
        type=Path,
        default=KEPT_PAST,
        help="where those batches are kept; the next bench goes on from them",
    )
    parser.add_argument("--runs", type=int, default=3, help="pairs of each comparison")
    parser.add_argument("--out", type=Path, default=KEPT, help="where the results are kept")
    return parser


def _summarise(results: Results) -> None:
    if not results.found:
        return
    columns = ("ratio wall", "ratio CPU", "last CPU", "ratio memory")
    table = Table("comparison", "this", "against that", *columns)
    for result in results.found:
        ratio, last = result.ratio, results.last_cpu_ratio(result.name)
        table.add_row(
            result.name,
            text_of(result.ours),
            text_of(result.theirs),
            f"{ratio.wall:.2f}",
            f"{ratio.cpu:.2f}",
            "" if last is None else f"{last:.2f}",
            f"{ratio.memory:.2f}",
        )
    # A narrow table breaks names, and a file or a pipe takes a wide one.
    screen = Console()
    if not screen.is_terminal:
        screen.width = WIDTH
    screen.print(table)
    for result in results.found:
        if result.records:
            say(speed_of(result))
    say(f"kept in {results.file}")


if __name__ == "__main__":
    sys.exit(main())
