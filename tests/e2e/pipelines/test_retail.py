"""The UCI Online Retail data, 305 daily files in 13 monthly increments, against DuckDB.

Nothing here shares code with the pipeline: the expectation is one SQL query over the CSV files.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Self
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from tests.support.processes import wait_for
from tidemill.contract.layout import Layout
from tidemill.contract.project import Project
from tidemill.contract.report import Outcome, Report, Step
from tidemill.file_formats.delta import open_dataset
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.main import step_function
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(os.environ.get("TIDEMILL_RETAIL", ""))
pytestmark = pytest.mark.skipif(
    "TIDEMILL_RETAIL" not in os.environ,
    reason="TIDEMILL_RETAIL does not say where the Online Retail data is",
)

FILES = 305
MONTHS = 13
STEPS: tuple[Step, ...] = ("doctor", "ingest", "gate", "publish")
ROWS = 541_907
REJECTED = 2
AMOUNT = Decimal("9769872.054")
ORACLE = r"""
    SELECT InvoiceNo AS invoice_no, StockCode AS stock_code, Description AS description,
           Quantity::INT AS quantity, InvoiceDate::TIMESTAMP AS invoice_date,
           UnitPrice::DECIMAL(10,3) AS unit_price, CustomerID::DOUBLE::INT AS customer_id,
           Country AS country, InvoiceNo[1] = 'C' AS is_cancellation,
           regexp_full_match(StockCode, '\d{5}[A-Za-z]*') AS is_product,
           (Quantity::INT * UnitPrice::DECIMAL(10,3))::DECIMAL(14,3) AS amount,
           InvoiceDate::TIMESTAMP::DATE AS order_date
    FROM csv WHERE UnitPrice::DECIMAL(10,3) >= 0
"""
COLUMNS = """
    invoice_no, stock_code, description, quantity,
    timezone('Europe/London', invoice_date) AS invoice_date,
    unit_price, customer_id, country, is_cancellation, is_product, amount, order_date
"""


def retail(home: Path) -> tuple[Pipeline, Path]:
    """The shipped pipeline over an empty input folder."""
    arrived, root = home / "arrived", home / "root"
    arrived.mkdir()
    root.mkdir()
    environ = {"TIDEMILL_ROOT": str(root), "TIDEMILL_RETAIL": str(arrived)}
    return open_pipeline("retail", environ), arrived


def run(pipeline: Pipeline, run_id: str) -> dict[str, Report]:
    """All four steps, as Airflow would start them one after the other."""
    one = RunContext(pipeline, run_id, lambda _: None)
    return {step: perform(step, step_function(step), one) for step in STEPS}


@pytest.fixture(scope="module")
def months(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> tuple[Layout, list[dict[str, Report]]]:
    """Thirteen runs, a calendar month of files each."""
    pipeline, arrived = retail(tmp_path_factory.mktemp("retail"))
    files = sorted(DATA.glob("*.csv"))
    assert len(files) == FILES
    runs = []
    for month in sorted({file.name[:7] for file in files}):
        for file in files:
            if file.name.startswith(month):
                (arrived / file.name).symlink_to(file)
        runs.append(run(pipeline, f"manual__{month}"))
    return pipeline.layout, runs


@pytest.fixture(scope="module")
def books(months: tuple[Layout, list[dict[str, Report]]]) -> duckdb.DuckDBPyConnection:
    """DuckDB with the CSV files, the expectation and what the engines read."""
    layout, _ = months
    connection = duckdb.connect()
    connection.execute(
        f"""CREATE VIEW csv AS SELECT * FROM read_csv('{DATA}/*.csv', header = true,
            all_varchar = true, quote = '"', escape = '"')"""
    )
    connection.execute(f"CREATE TABLE expected AS {ORACLE}")
    published = DeltaTable(layout.table).to_pyarrow_table()
    connection.register("arrow_rows", published)
    connection.execute(f"CREATE TABLE published AS SELECT {COLUMNS} FROM arrow_rows")
    return connection


def difference(connection: duckdb.DuckDBPyConnection, left: str, right: str) -> int:
    """How many rows two tables do not share, as multisets."""
    found = connection.execute(
        f"""SELECT (SELECT count(*) FROM (FROM {left} EXCEPT ALL FROM {right}))
                 + (SELECT count(*) FROM (FROM {right} EXCEPT ALL FROM {left}))"""
    ).fetchall()[0]
    return int(found[0])


def test_every_month_is_one_increment_that_passes(
    months: tuple[Layout, list[dict[str, Report]]],
) -> None:
    _, runs = months
    assert [run["publish"].outcome for run in runs] == [Outcome.DONE] * MONTHS
    assert [run["gate"].facts["increment"] for run in runs] == list(range(1, MONTHS + 1))
    assert [run["publish"].facts["published"][0]["version"] for run in runs] == list(range(MONTHS))


def test_the_published_table_equals_one_query_over_the_files(
    books: duckdb.DuckDBPyConnection,
) -> None:
    assert difference(books, "published", "expected") == 0
    totals = books.execute("SELECT count(*), sum(amount) FROM published").fetchall()[0]
    assert totals == (ROWS, AMOUNT)


def test_rejected_rows_are_kept_with_their_reason_and_file(
    months: tuple[Layout, list[dict[str, Report]]],
) -> None:
    rejected = DeltaTable(months[0].rejected).to_pyarrow_table().to_pylist()
    assert len(rejected) == REJECTED
    assert {row["reason"] for row in rejected} == {"rule price_not_negative"}
    assert {Path(row["file"]).name for row in rejected} == {"2011-08-12.csv"}


def test_polars_pandas_and_spark_read_the_same_rows(
    months: tuple[Layout, list[dict[str, Report]]],
    books: duckdb.DuckDBPyConnection,
    spark: SparkSession,
) -> None:
    layout, _ = months
    table = DeltaTable(layout.table)
    files = spark.read.option("basePath", str(layout.sink("live-0001")))
    engines: dict[str, pa.Table] = {
        "polars": pl.read_delta(str(layout.table)).to_arrow(),
        "pandas": pa.Table.from_pandas(table.to_pandas()),
        "spark": files.parquet(*table.file_uris()).drop("_reject").toArrow(),
    }
    for engine, rows in engines.items():
        books.register(f"{engine}_rows", rows)
        books.execute(f"CREATE TABLE {engine} AS SELECT {COLUMNS} FROM {engine}_rows")
        assert difference(books, engine, "expected") == 0, engine


# Postage, fees and corrections are not revenue any more.
NO_PRODUCT_NO_REVENUE = (
    'amount.cast("decimal(14,3)").alias("amount")',
    """
        F.when(F.col("StockCode").rlike(PRODUCT_CODE), amount).otherwise(0)
        .cast("decimal(14,3)").alias("amount")""",
)
MENDED = """
    SELECT * REPLACE (CASE WHEN {where} AND NOT is_product THEN 0 ELSE amount END AS amount)
    FROM expected
"""
LOOKS = 100
WEEK = "order_date BETWEEN '2011-06-01' AND '2011-06-07'"


@pytest.fixture(scope="module")
def mended(
    months: tuple[Layout, list[dict[str, Report]]],
    books: duckdb.DuckDBPyConnection,
    tmp_path_factory: pytest.TempPathFactory,
) -> Pipeline:
    """The same pipeline with another rule for revenue."""
    layout, _ = months
    arrived = layout.root.parent / "arrived"
    environ = {"TIDEMILL_ROOT": str(layout.root), "TIDEMILL_RETAIL": str(arrived)}
    shipped = open_pipeline("retail", environ)
    project = Project(tmp_path_factory.mktemp("mended"))
    files = (
        (shipped.spec_file, project.spec("retail")),
        (shipped.suite_file, project.suite("retail")),
        (shipped.transform_file, project.transform("retail")),
    )
    for source, copy in files:
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text())
    old, new = NO_PRODUCT_NO_REVENUE
    code = shipped.transform_file.read_text()
    assert old in code
    project.transform("retail").write_text(code.replace(old, new.strip()))
    return replace(shipped, project=project)


class Poll:
    """A consumer that looks at a table over and over: rows a day, and the week's revenue."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self.seen: list[tuple[int, int, Decimal]] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def run(self, pipeline: Pipeline, run_id: str) -> dict[str, Report]:
        """A run that commits only after a hundred looks, of which the last may be after it."""
        one = RunContext(pipeline, run_id, lambda _: None)
        reports: dict[str, Report] = {}
        for step in STEPS:
            if step == "publish":
                wait_for(lambda: len(self.seen) >= LOOKS, deadline=300)
            reports[step] = perform(step, step_function(step), one)
        return reports

    def _look(self) -> None:
        week = (date(2011, 6, 1), date(2011, 6, 7))
        while not self._done.is_set():
            rows = open_dataset(self.table).to_table(
                columns=["order_date", "amount"],
                filter=pc.field("order_date").isin([week[0] + timedelta(n) for n in range(7)]),
            )
            days = pc.count_distinct(rows.column("order_date")).as_py()
            state = (rows.num_rows, days, pc.sum(rows.column("amount")).as_py())
            self.seen.append(state)


def revenue(books: duckdb.DuckDBPyConnection, table: str) -> tuple[int, int, Decimal]:
    """What a consumer may see of the week."""
    found = books.execute(
        f"SELECT count(*), count(DISTINCT order_date), sum(amount) FROM {table} WHERE {WEEK}"
    ).fetchall()[0]
    return (found[0], found[1], found[2])


def as_it_is(books: duckdb.DuckDBPyConnection, layout: Layout, name: str) -> str:
    """The published rows as a table of DuckDB's."""
    books.register(f"{name}_rows", DeltaTable(layout.table).to_pyarrow_table())
    books.execute(f"CREATE TABLE {name} AS SELECT {COLUMNS} FROM {name}_rows")
    return name


def test_a_backfilled_week_has_the_new_rule_and_the_other_days_the_old_one(
    mended: Pipeline, books: duckdb.DuckDBPyConnection, spark: SparkSession
) -> None:
    zone = ZoneInfo("Europe/London")
    request = RunRequest(
        role="backfill",
        start=datetime(2011, 6, 1, tzinfo=zone),
        end=datetime(2011, 6, 8, tzinfo=zone),
        by="ada",
        reason="postage is no revenue",
    )
    fix_request(mended.layout.run("week"), request)
    books.execute(f"CREATE TABLE week AS {MENDED.format(where=WEEK)}")
    with Poll(mended.layout.table) as poll:
        reports = poll.run(mended, "week")
    assert reports["publish"].outcome is Outcome.DONE, reports
    assert difference(books, as_it_is(books, mended.layout, "backfilled"), "week") == 0
    assert len(poll.seen) >= LOOKS
    assert set(poll.seen) <= {revenue(books, "expected"), revenue(books, "week")}


def test_a_rebuilt_table_has_the_new_rule_everywhere_and_all_at_once(
    mended: Pipeline, books: duckdb.DuckDBPyConnection, spark: SparkSession
) -> None:
    request = RunRequest(role="rebuild", by="ada", reason="postage is no revenue")
    fix_request(mended.layout.run("rebuild"), request)
    books.execute(f"CREATE TABLE everywhere AS {MENDED.format(where='true')}")
    with Poll(mended.layout.table) as poll:
        reports = poll.run(mended, "rebuild")
    assert reports["publish"].outcome is Outcome.DONE, reports
    assert difference(books, as_it_is(books, mended.layout, "rebuilt"), "everywhere") == 0
    assert len(poll.seen) >= LOOKS
    assert set(poll.seen) <= {revenue(books, "week"), revenue(books, "everywhere")}
    idle = perform("doctor", step_function("doctor"), RunContext(mended, "idle", lambda _: None))
    assert idle.outcome is Outcome.SKIPPED, idle


def test_a_planted_bad_day_is_held_and_the_next_good_day_waits(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipeline, arrived = retail(tmp_path)
    (arrived / "2010-12-01.csv").symlink_to(DATA / "2010-12-01.csv")
    assert run(pipeline, "good")["publish"].outcome is Outcome.DONE
    before = DeltaTable(pipeline.layout.table).to_pyarrow_table().num_rows

    lines = (DATA / "2010-12-02.csv").read_text().splitlines(keepends=True)
    # Cancelled invoices lose their minus sign: money that was given back counts as earned.
    bad = [line.replace(",-", ",") if line.startswith("C") else line for line in lines]
    assert bad != lines
    (arrived / "2010-12-02.csv").write_text("".join(bad))
    planted = run(pipeline, "planted")
    (arrived / "2010-12-03.csv").symlink_to(DATA / "2010-12-03.csv")
    after = run(pipeline, "after")

    assert planted["gate"].outcome is Outcome.HELD
    assert [reason.partition("(")[0] for reason in planted["gate"].facts["reasons"]] == [
        "expect_column_values_to_be_between"
    ]
    assert after["gate"].outcome is Outcome.DONE
    assert after["publish"].outcome is Outcome.WAITING
    assert after["publish"].facts["held"] == 2
    assert DeltaTable(pipeline.layout.table).to_pyarrow_table().num_rows == before
