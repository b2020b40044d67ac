"""`make bench`: three comparisons with what people write by hand, from one run on one machine."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from spark_jobs.contract.java import java_home
from spark_jobs.contract.layout import Layout
from spark_jobs.contract.load import load_spec
from spark_jobs.contract.project import REPOSITORY
from spark_jobs.contract.session_conf import driver_java_options, engine_conf
from tests.bench import orders
from tests.bench.measure import Command, Cost, cost_of

SCRIPTS = Path(__file__).parent / "scripts"
MAIN = str(REPOSITORY / "spark_jobs" / "main.py")
SUBMIT = (str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]")


class Bench:
    """One temporary folder with a project, an input and a place for both sides' output."""

    def __init__(self, home: Path) -> None:
        self.home = home
        orders.write_project(home / "project")
        self.environ = {
            **os.environ,
            "TIDEMILL_PROJECTS": str(home / "project"),
            "TIDEMILL_ROOT": str(home / "ours"),
            "ORDERS_INPUT": str(home / "input"),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "JAVA_HOME": str(java_home(os.environ)),
        }
        self.fresh()

    def fresh(self) -> None:
        for side in ("ours", "theirs"):
            shutil.rmtree(self.home / side, ignore_errors=True)
            (self.home / side).mkdir()

    def input(self, *, megabytes: float, files: int) -> None:
        shutil.rmtree(self.home / "input", ignore_errors=True)
        orders.write_input(self.home / "input", megabytes=megabytes, files=files)

    def hand_written(self, script: str) -> Command:
        folders = [str(self.home / "theirs")]
        if script == "ingest":
            folders.insert(0, str(self.home / "input"))
        return [*SUBMIT, str(SCRIPTS / f"{script}.py"), *folders]

    def step(self, step: str, run: str = "bench") -> Command:
        return [sys.executable, "-m", "spark_jobs.main", step, orders.NAME, "--run-id", run]

    def ingest(self, backlog: int) -> Command:
        """As the Airflow operator submits it."""
        spec = load_spec(self.home / "project/dags/specs/orders.yaml", self.environ)
        conf = [f"--conf={key}={value}" for key, value in engine_conf(spec).items()]
        options = driver_java_options(backlog)
        java = ["--driver-java-options", options] if options else []
        return [*SUBMIT, *conf, *java, MAIN, "ingest", orders.NAME, "--run-id", "bench"]

    def whole_run(self, backlog: int) -> list[Command]:
        return [
            self.step("doctor"),
            self.ingest(backlog),
            [*self.step("gate"), "--no-spark"],
            self.step("publish"),
        ]

    @property
    def backlog(self) -> int:
        return sum(file.stat().st_size for file in (self.home / "input").iterdir())


def compare(
    bench: Bench, runs: int, ours: Callable[[], Cost], theirs: Callable[[], Cost]
) -> tuple[Cost, Cost, Cost]:
    """Medians of both sides, and the median of the ratios of runs made side by side."""
    pairs = [(ours(), theirs()) for _ in range(runs)]
    ratios = [mine / their for mine, their in pairs]
    return _median([mine for mine, _ in pairs]), _median([t for _, t in pairs]), _median(ratios)


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.wall for cost in costs), statistics.median(c.cpu for c in costs)
    )


def ingest_alone(bench: Bench, megabytes: float, runs: int) -> tuple[Cost, Cost, Cost]:
    bench.input(megabytes=megabytes, files=8)

    def ours() -> Cost:
        bench.fresh()
        return cost_of([bench.ingest(bench.backlog)], bench.environ)

    return compare(
        bench, runs, ours, lambda: cost_of([bench.hand_written("ingest")], bench.environ)
    )


def small_increment(bench: Bench, runs: int) -> tuple[Cost, Cost, Cost]:
    bench.input(megabytes=1, files=1)

    def ours() -> Cost:
        bench.fresh()
        return cost_of(bench.whole_run(bench.backlog), bench.environ)

    glue = [bench.hand_written("ingest"), bench.hand_written("quality")]
    return compare(bench, runs, ours, lambda: cost_of(glue, bench.environ))


def nothing_to_do(bench: Bench, runs: int) -> tuple[Cost, Cost, Cost]:
    """Both sides have already taken everything in when they are measured."""
    bench.input(megabytes=1, files=1)
    bench.fresh()
    cost_of(bench.whole_run(bench.backlog), bench.environ)
    cost_of([bench.hand_written("ingest")], bench.environ)
    assert Layout(bench.home / "ours", orders.NAME).table.is_dir()
    return compare(
        bench,
        runs,
        lambda: cost_of([bench.step("doctor", "again")], bench.environ),
        lambda: cost_of([bench.hand_written("ingest")], bench.environ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1024, help="input of the first one")
    parser.add_argument("--runs", type=int, default=3, help="pairs of each comparison")
    given = parser.parse_args()
    console = Console()
    table = Table("comparison", "ours", "by hand", "ratio wall", "ratio CPU")
    with tempfile.TemporaryDirectory(prefix="tidemill-bench-") as home:
        bench = Bench(Path(home))
        size = f"{given.megabytes:g} MB"
        for name, measured in (
            (
                f"ingest of {size} / hand-written stream",
                lambda: ingest_alone(bench, given.megabytes, given.runs),
            ),
            (
                "whole small increment / spark-submit, then GX on Spark",
                lambda: small_increment(bench, given.runs),
            ),
            ("nothing to do / availableNow without data", lambda: nothing_to_do(bench, given.runs)),
        ):
            with console.status(name):
                ours, theirs, ratio = measured()
            table.add_row(name, _text(ours), _text(theirs), f"{ratio.wall:.2f}", f"{ratio.cpu:.2f}")
    console.print(table)


def _text(cost: Cost) -> str:
    return f"{cost.wall:.1f} s, {cost.cpu:.1f} CPU-s"


if __name__ == "__main__":
    main()
