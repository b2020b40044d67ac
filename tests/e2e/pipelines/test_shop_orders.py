"""The demo's pipeline over generated days, one of them bad, against DuckDB."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from deltalake import DeltaTable

from tidemill.contract.report import Outcome, Report, Step
from tidemill.main import step_function
from tidemill.samples.shop_orders import write_day
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps.decisions.release import release
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS, PLANTED = range(1, 6), 3
ROWS, REJECTED, AMOUNT = 2_014, 25, Decimal("68557.00")
STEPS: tuple[Step, ...] = ("doctor", "ingest", "gate", "publish")
LINES = """
    CREATE VIEW lines AS SELECT * FROM read_csv('{folder}/*.csv', header = false, skip = 1,
        null_padding = true, strict_mode = false, auto_detect = false, quote = '"', escape = '"',
        columns = {{order_id: 'VARCHAR', customer_id: 'VARCHAR', product: 'VARCHAR',
                    quantity: 'VARCHAR', unit_price: 'VARCHAR', ordered_at: 'VARCHAR',
                    surplus: 'VARCHAR'}})
"""
REASON = """
    CASE WHEN surplus IS NOT NULL OR try_cast(quantity AS INT) IS NULL THEN 'malformed'
         WHEN ordered_at IS NULL THEN 'no event time' END
"""
GOOD = f"""
    SELECT order_id, customer_id, product, quantity::INT AS quantity,
           unit_price::DECIMAL(10,2) AS unit_price, ordered_at::TIMESTAMP AS ordered_at,
           (quantity::INT * unit_price::DECIMAL(10,2))::DECIMAL(12,2) AS amount,
           ordered_at::TIMESTAMP::DATE AS order_date
    FROM lines WHERE {REASON} IS NULL
"""


def run(pipeline: Pipeline, run_id: str) -> dict[str, Report]:
    one = RunContext(pipeline, run_id, lambda _: None)
    return {step: perform(step, step_function(step), one) for step in STEPS}


def test_good_and_rejected_tables_equal_a_query_over_the_files(
    tmp_path: Path, spark: SparkSession
) -> None:
    folder, root = tmp_path / "shop_orders", tmp_path / "root"
    root.mkdir()
    environ = {"TIDEMILL_ROOT": str(root), "TIDEMILL_INPUT": str(tmp_path)}
    pipeline = open_pipeline("shop_orders", environ)

    gates = []
    for day in DAYS:
        write_day(folder, day, planted=day == PLANTED)
        gates.append(run(pipeline, f"day-{day}")["gate"].outcome)
    held = Outcome.HELD
    assert gates == [held if day == PLANTED else Outcome.DONE for day in DAYS]
    assert DeltaTable(pipeline.layout.table).version() == PLANTED - 2
    release(pipeline, PLANTED, by="ada", reason="returns", run_id="release")
    published = run(pipeline, "after")["publish"].facts["published"]
    assert [event["increment"] for event in published] == list(DAYS)[PLANTED - 1 :]

    duck = duckdb.connect()
    duck.execute(LINES.format(folder=folder))
    duck.register("delta", DeltaTable(pipeline.layout.table).to_pyarrow_table())
    duck.execute(f"CREATE TABLE expected AS {GOOD}")
    duck.execute(
        """CREATE TABLE published AS SELECT order_id, customer_id, product, quantity, unit_price,
           timezone('Europe/London', ordered_at) AS ordered_at, amount, order_date FROM delta"""
    )
    for left, right in (("published", "expected"), ("expected", "published")):
        assert duck.execute(f"FROM {left} EXCEPT ALL FROM {right}").fetchall() == []
    totals = duck.execute("SELECT count(*), sum(amount) FROM published").fetchall()
    assert totals == [(ROWS, AMOUNT)]

    kept = DeltaTable(pipeline.layout.rejected).to_pyarrow_table(columns=["reason"])
    reasons = sorted(kept["reason"].to_pylist())
    query = f"SELECT {REASON} AS reason FROM lines WHERE reason IS NOT NULL ORDER BY reason"
    assert reasons == [reason for (reason,) in duck.execute(query).fetchall()]
    assert len(reasons) == REJECTED
