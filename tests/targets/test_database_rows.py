"""The example for a database: rows and head are one transaction of Python's DB-API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.targets.database_rows import DatabaseRows
from tests.support.histories.history_builder import History
from tidemill.contract.report import Outcome
from tidemill.publish.swap_support import refuse_backfill
from tidemill.publish.target import SwapUnfit
from tidemill.publish.target_kit import CHECKS, Subject

COLUMNS = pa.schema([("id", pa.int64()), ("text", pa.string())])


Options = dict[str, str]
CREATE = 'CREATE TABLE "the orders" (id BIGINT, text VARCHAR(20))'


@pytest.fixture(params=["sqlite3", pytest.param("psycopg", marks=pytest.mark.server)])
def options(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Options:
    """A database with an empty table."""
    database = str(tmp_path / "orders.sqlite")
    if request.param == "psycopg":
        server = request.getfixturevalue("postgres")
        given = server.parameters(server.fresh_database())
        monkeypatch.setenv("PGPASSWORD", given.pop("password"))
        database = " ".join(f"{name}={value}" for name, value in given.items())
    options = {"module": request.param, "database": database, "table": "the orders"}
    with opened(options) as connection:
        connection.execute(CREATE)
    return options


@contextmanager
def opened(options: Options) -> Iterator[Any]:
    with closing(import_module(options["module"]).connect(options["database"])) as connection:
        yield connection
        connection.commit()


def ids(options: Options) -> list[int]:
    with opened(options) as connection:
        found = connection.execute('SELECT id FROM "the orders" ORDER BY id').fetchall()
    return [number for (number,) in found]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_what_a_target_promises(
    options: Options, tmp_path: Path, check: Callable[[Subject], None]
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
    make_history: Callable[..., History], options: Options
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
