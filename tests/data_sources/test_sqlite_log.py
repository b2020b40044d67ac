"""The shipped example keeps the contract, and a pipeline publishes it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from spark_jobs.data_sources import sqlite_log
from spark_jobs.data_sources.sqlite_log import SqliteLog
from tests.support.pipelines.orders_pipeline import SPEC, OrdersPipeline
from tidemill.contract.errors import SpecError
from tidemill.contract.project import Project
from tidemill.contract.report import Outcome
from tidemill.data_sources.kit import CHECKS
from tidemill.data_sources.subject import Subject
from tidemill.engine.sources.python import load_data_source


class Log:
    """A log in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(sqlite3.connect(path)) as database:
            database.execute(
                'CREATE TABLE "tick log" (id INTEGER PRIMARY KEY AUTOINCREMENT, what, "how many")'
            )

    def add(self, rows: int) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            values = [(f"tick {n}", n) for n in range(rows)]
            database.executemany('INSERT INTO "tick log" (what, "how many") VALUES (?, ?)', values)
            # Rolled-back inserts leave gaps in the numbers.
            database.execute('INSERT INTO "tick log" (what) VALUES (NULL)')
            database.execute('DELETE FROM "tick log" WHERE what IS NULL')


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "log.sqlite")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("limit", [{}, {"maxRowsPerBatch": "2"}])
def test_it_keeps_the_contract(
    log: Log, monkeypatch: pytest.MonkeyPatch, check: Any, limit: dict[str, str]
) -> None:
    monkeypatch.setattr(sqlite_log, "ROWS_PER_PARTITION", 2)
    log.add(5)
    options = {"path": str(log.path), "table": "tick log", **limit}
    schema = "what string, `how many` long"
    check(Subject(SqliteLog, options, schema, lambda: log.add(3)))


PROJECTS_OWN = """
from spark_jobs.data_sources.sqlite_log import SqliteLog


class Ticks(SqliteLog):
    @classmethod
    def name(cls):
        return "ticks"
"""
TRANSFORM = "def transform(orders):\n    return orders\n"


@pytest.mark.parametrize("named", ["sqlite_log:SqliteLog", "ticks:Ticks"])
def test_a_pipeline_publishes_each_row_once(tmp_path: Path, spark: object, named: str) -> None:
    log = Log(tmp_path / "log.sqlite")
    source = {
        "kind": "python",
        "data_source": named,
        "schema": "id long, what string",
        "options": {"path": str(log.path), "table": "tick log", "maxRowsPerBatch": 4},
        "row_rules": {"not_the_third": "what <> 'tick 2'"},
    }
    spec = {**SPEC, "env": {}, "sources": {"orders": source}}
    for part in ("event_time", "output", "row_rules"):
        del spec[part]
    mill = OrdersPipeline(tmp_path / "mill", spec)
    mill.pipeline.transform_file.write_text(TRANSFORM)
    own = mill.home / "project" / "spark_jobs" / "data_sources"
    own.mkdir()
    (own / "ticks.py").write_text(PROJECTS_OWN)
    mill.suite.write_text(mill.suite.read_text().replace('"quantity"', '"id"'))

    log.add(6)
    first = mill.run("first")
    assert first["publish"].outcome is Outcome.DONE
    assert len(first["ingest"].facts["batches"]) == 2
    log.add(3)
    assert mill.run("second")["publish"].outcome is Outcome.DONE
    assert mill.run("third")["publish"].outcome is Outcome.DONE

    rows = DeltaTable(mill.layout.table).to_pyarrow_table(columns=["id", "what"]).to_pylist()
    with closing(sqlite3.connect(log.path)) as database:
        expected = database.execute('SELECT id, what FROM "tick log" WHERE "how many" <> 2')
        assert Counter((row["id"], row["what"]) for row in rows) == Counter(expected.fetchall())
    rejected = DeltaTable(mill.layout.rejected).to_pyarrow_table().to_pylist()
    assert [(row["reason"], row["file"]) for row in rejected] == [
        ("rule not_the_third", "python:orders")
    ] * 2


@pytest.mark.parametrize(
    "named", ["absent:Source", "sqlite_log:Absent", "sqlite_log:Rows", "broken:Source"]
)
def test_a_class_that_is_none_is_refused_with_the_field(tmp_path: Path, named: str) -> None:
    folder = tmp_path / "spark_jobs" / "data_sources"
    folder.mkdir(parents=True)
    (folder / "broken.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(SpecError) as error:
        load_data_source(named, Project(tmp_path), "sources.ticks.data_source")
    assert error.value.field == "sources.ticks.data_source"
