"""`tidemill sql` answers queries over the published tables, and can do nothing but read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import COLUMNS, History, reject, row, rows, tree
from tidemill.contract.errors import ExitCode
from tidemill.contract.project import REPOSITORY


@pytest.fixture(autouse=True)
def published(history: History) -> History:
    """Two increments published, a third one held; the second has a column more."""
    history.increment(rows(1, 2), [reject("bad line")])
    history.publish()
    history.start(COLUMNS.append(pa.field("channel", pa.string())))
    history.increment([row(3, channel="web")])
    history.publish()
    history.increment([row(4, channel="shop")], outcome="held")
    return history


def test_a_pipelines_name_is_its_published_table(tidemill: Tidemill) -> None:
    found = tidemill(
        "sql", "SELECT day, count(*) AS n, sum(amount) s FROM orders GROUP BY 1", "--json"
    ).json
    assert found == {
        "columns": ["day", "n", "s"],
        "rows": [{"day": "2024-01-01", "n": 3, "s": "6.75"}],
        "more": False,
    }


def test_types_are_those_of_the_table_also_of_partitions(tidemill: Tidemill) -> None:
    found = tidemill("sql", "DESCRIBE orders", "--json").json
    assert {one["column_name"]: one["column_type"] for one in found["rows"]} == {
        "id": "BIGINT",
        "amount": "DECIMAL(10,2)",
        "at": "TIMESTAMP WITH TIME ZONE",
        "text": "VARCHAR",
        "day": "DATE",
        "channel": "VARCHAR",
    }


def test_a_column_that_came_later_is_null_in_older_rows(tidemill: Tidemill) -> None:
    found = tidemill("sql", "SELECT id, channel FROM Orders ORDER BY id DESC", "--json").json
    assert [list(one.values()) for one in found["rows"]] == [[3, "web"], [2, None], [1, None]]


def test_rejected_rows_are_a_table_too(tidemill: Tidemill) -> None:
    query = "SELECT r.record, o.id FROM orders_rejected r, orders o WHERE o.id = 1"
    assert tidemill("sql", query, "--json").json["rows"] == [{"record": "bad line", "id": 1}]


def test_the_limit_bounds_the_rows_and_says_so(tidemill: Tidemill) -> None:
    found = tidemill("sql", "SELECT id FROM orders ORDER BY id", "--limit", "2", "--json").json
    assert ([one["id"] for one in found["rows"]], found["more"]) == ([1, 2], True)
    answer = tidemill("sql", "SELECT id FROM orders ORDER BY id", "--limit", "2")
    assert answer.stdout.splitlines()[0].startswith("2 rows, and there are more")


def test_columns_of_one_name_are_told_apart(tidemill: Tidemill) -> None:
    found = tidemill("sql", "SELECT 1 AS a, 2 AS a, 3 AS a_1", "--json").json
    assert found["columns"] == ["a", "a_1", "a_1_1"]
    assert list(found["rows"][0].values()) == [1, 2, 3]


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO orders SELECT * FROM orders",
        "DELETE FROM orders",
        "CREATE TABLE x AS SELECT 1",
        "COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'x.db'",
        "SET enable_external_access = true",
        "SELECT 1; SELECT 2",
        "",
        "SELEC",
        "SELECT * FROM no_such_table",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM tables",
    ],
)
def test_whatever_is_not_a_query_of_these_tables_is_refused(
    published: History, tidemill: Tidemill, query: str
) -> None:
    before = tree(published.home)
    answer = tidemill("sql", query, "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "QueryRefused")
    assert answer.json["data"]["tables"] == ["orders", "orders_rejected"]
    assert tree(published.home) == before
    assert not Path("out.csv").exists()


def test_a_process_of_its_own_ends_well(published: History) -> None:
    # Threads of Arrow's that still run Python code at its end would abort it.
    query = "SELECT id FROM orders ORDER BY id LIMIT 1"
    command = [sys.executable, "-c", "from tidemill.cli import main; main()", "sql", query]
    for _ in range(3):
        ended = subprocess.run(
            command,
            cwd=REPOSITORY,
            env={**os.environ, **published.environ},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
