"""The UCI Online Retail data, 305 daily files in 13 monthly increments, against DuckDB.

Nothing here shares code with the pipeline: the expectation is one SQL query over the CSV files.
"""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from spark_jobs.contract.layout import Layout
from spark_jobs.contract.pipeline import open_pipeline
from spark_jobs.contract.report import Outcome, Report, Step
from spark_jobs.main import step_function
from spark_jobs.steps.step import Run, perform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(
    os.environ.get("TIDEMILL_RETAIL") or Path(__file__).parents[3] / "shared" / "data" / "retail"
)
pytestmark = [
    pytest.mark.jvm,
    pytest.mark.skipif(
        not DATA.is_dir(), reason="the Online Retail data is not here; set TIDEMILL_RETAIL to it"
    ),
]

MONTHS = 13
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


@pytest.fixture(scope="module")
def months(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> tuple[Layout, list[dict[str, Report]]]:
    """Thirteen runs, a calendar month of files each."""
    home = tmp_path_factory.mktemp("retail")
    arrived, root = home / "arrived", home / "root"
    arrived.mkdir()
    root.mkdir()
    environ = {"TIDEMILL_ROOT": str(root), "TIDEMILL_RETAIL": str(arrived)}
    pipeline = open_pipeline("retail", environ)
    files = sorted(DATA.glob("*.csv"))
    runs = []
    for month in sorted({file.name[:7] for file in files}):
        for file in files:
            if file.name.startswith(month):
                (arrived / file.name).symlink_to(file)
        reports: dict[str, Report] = {}
        steps: tuple[Step, ...] = ("doctor", "ingest", "gate", "publish")
        for step in steps:
            run = Run(pipeline, f"manual__{month}", lambda _: None)
            reports[step] = perform(step, step_function(step), run)
        runs.append(reports)
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
