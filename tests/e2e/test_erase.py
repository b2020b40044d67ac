"""A person's rows are erased, and stay away while their input is still there and read again."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from typer.testing import CliRunner

from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.cli.app import app
from tidemill.contract.report import Outcome
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PERSON = "ann@example.org"


def told(mill: OrdersPipeline, *words: str) -> Any:
    answer = CliRunner().invoke(app, [*words, "--json"], env=mill.environ, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def without_person(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter({row: n for row, n in rows.items() if PERSON not in str(row)})


def assert_gone(mill: OrdersPipeline) -> None:
    """Consumers see all input without the person, of whom no file has a trace."""
    good, bad = mill.expected()
    assert PERSON in str(good)
    assert mill.published() == without_person(good)
    assert mill.rejected() == without_person(bad)
    for path in mill.layout.home.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            shown = content.decode("utf-8", "replace")
            if path.suffix == ".parquet":
                shown = str(pq.read_table(io.BytesIO(content)).to_pylist())
            assert PERSON not in shown, path


def deliver(mill: OrdersPipeline, day: int) -> None:
    at = f"2026-03-{day:02d} 01:00:00"
    others = [f"{day}-{n},{n + 1},{at}" for n in range(8)]
    bad = [f"{PERSON},many,{at}", f"{day}-bad,many,{at}"]
    mill.deliver(f"day-{day:02d}.csv", [*others, f"{PERSON},{day},{at}", *bad])


def test_erased_rows_stay_away(tmp_path: Path, spark: SparkSession) -> None:
    assert_erased_rows_stay_away(OrdersPipeline(tmp_path))


def assert_erased_rows_stay_away(mill: OrdersPipeline) -> None:
    """Let a pipeline take in a person's rows, erase them, and read all that is there again."""
    for day in (1, 2):
        deliver(mill, day)
        assert mill.run(f"day-{day}")["publish"].outcome is Outcome.DONE
    where = ("erase", mill.name, "--where", f"id = '{PERSON}'")
    planned = told(mill, *where)
    assert (planned["rows"], planned["rejected"], len(planned["inputs"])) == (2, 2, 2)
    done = told(mill, *where, "--reason", "a request", "--apply")
    assert (done["applied"], done["files"]) == (True, planned["files"])
    assert_gone(mill)
    # What comes later, of a stream that was begun before.
    deliver(mill, 3)
    assert mill.run("day-3")["publish"].outcome is Outcome.DONE
    assert_gone(mill)
    why = ("--reason", "as a test says")
    told(mill, "backfill", mill.name, "--from", "2026-03-01", "--to", "2026-03-02", *why)
    assert_gone(mill)
    told(mill, "rebuild", mill.name, *why)
    assert_gone(mill)
    assert perform("doctor", doctor, mill.context("last")).error is None
    assert told(mill, *where)["needed"] is False
