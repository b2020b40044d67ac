"""The example for a database: rows and head are one transaction of Python's DB-API."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.targets.database_rows import DatabaseRows
from tests.support.histories.history_builder import History
from tidemill.contract.report import Outcome
from tidemill.publish.swap_support import refuse_backfill
from tidemill.publish.target import SwapUnfit
from tidemill.publish.target_kit import CHECKS, Subject

COLUMNS = pa.schema([("id", pa.int64()), ("text", pa.string())])


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    """A database with an empty table."""
    path = tmp_path / "orders.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute('CREATE TABLE "the orders" (id BIGINT, text VARCHAR(20))')
    return {"module": "sqlite3", "database": str(path), "table": "the orders"}


def ids(options: dict[str, str]) -> list[int]:
    with closing(sqlite3.connect(options["database"])) as database:
        found = database.execute('SELECT id FROM "the orders" ORDER BY id').fetchall()
    return [number for (number,) in found]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_what_a_target_promises(
    options: dict[str, str], tmp_path: Path, check: Callable[[Subject], None]
) -> None:
    check(
        Subject(
            DatabaseRows,
            options,
            COLUMNS,
            lambda number: {"id": number, "text": f"row {number}"},
            lambda: ids(options),
            tmp_path,
        )
    )


def test_a_pipeline_publishes_to_it_and_refuses_backfills(
    make_history: Callable[..., History], options: dict[str, str]
) -> None:
    given = {"kind": "python", "target": "database_rows:DatabaseRows", "options": options}
    history = make_history(
        columns=COLUMNS, partitions={}, more=f"publish: [{{kind: delta}}, {json.dumps(given)}]"
    )
    own = history.project.target("database_rows")
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("from spark_jobs.targets.database_rows import DatabaseRows\n")
    for number in (1, 2):
        history.increment([{"id": number, "text": "a"}])
        assert history.publish().outcome is Outcome.DONE
    assert ids(options) == history.ids() == [1, 2]
    with pytest.raises(SwapUnfit):
        refuse_backfill(history.pipeline)
