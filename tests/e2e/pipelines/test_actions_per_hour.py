"""The shipped pipeline `actions_per_hour`: PostgreSQL holds what one batch query would give.

At every moment: a reader that never stops looking sees the counts after some prefix of what was
published and nothing in between, so that doors never close more often than they opened.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pytest

from tests.servers.postgres import Postgres
from tests.support.concurrent_reader import ConcurrentReader, State, state_of
from tests.support.pipelines.pipeline_folder import STEPS
from tests.support.warehouse import PostgresWarehouse
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome, Report, Step
from tidemill.increments.increments import Increments, Verdict
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.ledger import Ledger
from tidemill.main import step_function
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps.parts.run import perform
from tidemill.steps.parts.seal import seal
from tidemill.storage.run_context import RunContext

NAME = "actions_per_hour"
QUERY = "SELECT action, hour, count FROM {table}"
# As many files as the pipeline takes into one batch.
FILES = 10
BATCHES = 50
START = datetime(2026, 3, 1, tzinfo=UTC)
Rows = list[tuple[Any, ...]]


class Building:
    """A building with doors, and the pipeline that counts what they do.

    Args:
        home: An empty directory.
        warehouse: Where the counts go.
    """

    def __init__(self, home: Path, warehouse: PostgresWarehouse) -> None:
        self.input = home / "input"
        self.input.mkdir()
        self.root = home / "root"
        self.root.mkdir()
        self.warehouse = warehouse
        self.events = 0

    @property
    def pipeline(self) -> Pipeline:
        own = {"TIDEMILL_ROOT": str(self.root), "TIDEMILL_ACTIONS": str(self.input)}
        return open_pipeline(NAME, {**os.environ, **own})

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.pipeline.layout, FIRST_GENERATION)

    def doors(self, files: int) -> None:
        """So many files: in each two doors open before one closes; in the first somebody knocks."""
        knocks = ['{"time": "2026-03-01T00:00:00Z", "action": "knock"}']
        for number in range(files):
            lines = [] if number else knocks
            for action in ("open", "Open", "close"):
                time = START + timedelta(minutes=self.events)
                # As seconds since the epoch and as text: both are in use.
                said = int(time.timestamp()) if self.events % 2 else time.isoformat()
                lines.append(json.dumps({"time": said, "action": action}))
                self.events += 1
            path = self.input / f"{self.events:06d}.json"
            path.write_text("\n".join(lines))
            os.utime(path, (self.events, self.events))

    def step(self, step: Step, run_id: str) -> Report:
        return perform(step, step_function(step), RunContext(self.pipeline, run_id, lambda _: None))

    def publish(self, batch: int) -> Report:
        """Publish what was committed up to a batch, as if the gate had come just then."""
        with patch.object(Ledger, "latest", lambda *_: batch):
            with RunContext(self.pipeline, f"run-{batch}", lambda _: None).hold("gate") as held:
                number = seal(held, Snapshot(held.layout))
            assert number is not None
            self.judge(number)
            return self.step("publish", f"run-{batch}")

    def judge(self, number: int) -> None:
        increments = Increments(self.pipeline.layout.increments)
        sealed = increments.sealed(number)
        verdict = Verdict(
            increment=number,
            outcome="passed",
            files_hash=sealed.files_hash,
            suite_hash="suite",
            gate_hash="gate",
            engine="in_process",
            why="small",
            reasons=(),
            run_id=sealed.run_id,
            judged=datetime.now(UTC),
        )
        increments.judge(verdict)

    def table(self) -> State:
        return state_of(self.warehouse.execute(QUERY.format(table=NAME)))


BATCH_QUERY = """
    SELECT lower(action) AS action, date_trunc('hour', coalesce(
        make_timestamp(try_cast(time AS BIGINT) * 1000000), try_cast(time AS TIMESTAMP)
    )) AS hour, count(*)
    FROM read_json($1, columns = {time: 'VARCHAR', action: 'VARCHAR'}, format = 'nd')
    WHERE lower(action) IN ('open', 'close') GROUP BY ALL
"""


def batch_query(paths: list[str]) -> Rows:
    """The counts by DuckDB, which knows nothing of us, over exactly these files."""
    found = duckdb.connect().execute(BATCH_QUERY, [paths]).fetchall()
    return [(action, hour.replace(tzinfo=UTC), count) for action, hour, count in found]


@pytest.fixture
def building(
    tmp_path: Path, postgres: Postgres, spark: object, monkeypatch: pytest.MonkeyPatch
) -> Building:
    warehouse = PostgresWarehouse(postgres)
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", warehouse.connection)
    return Building(tmp_path, warehouse)


def test_every_state_that_a_reader_sees_is_the_batch_query_over_some_prefix(
    building: Building,
) -> None:
    building.doors(FILES * BATCHES)
    assert building.step("ingest", "run").outcome is Outcome.DONE
    batches = building.ledger.batches()
    assert len(batches) == BATCHES
    read: list[str] = []
    allowed = [state_of([])]
    for batch in batches:
        read += [file.path for file in batch.inputs]
        allowed.append(state_of(batch_query(read)))

    with ConcurrentReader(building.warehouse.connect, QUERY.format(table=NAME)) as reader:
        for number in range(BATCHES):
            assert building.publish(number).outcome is Outcome.DONE
            reader.look()
        assert building.table() == allowed[-1]

    assert reader.strays(allowed) == []
    assert len(set(reader.states)) > 50
    assert all(closed(state) <= opened(state) for state in reader.states)

    # The same eyes on somebody who writes the same rows one by one.
    with ConcurrentReader(building.warehouse.connect, QUERY.format(table="careless")) as reader:
        write_carelessly(building.warehouse, allowed[-1], reader)
    assert reader.strays(allowed) != []
    assert not all(closed(state) <= opened(state) for state in reader.states)


def opened(state: State) -> int:
    return total(state, "open")


def closed(state: State) -> int:
    return total(state, "close")


def total(state: State, action: str) -> int:
    """How often an action happened, over all hours."""
    return sum(row[2] * times for rows in state for row, times in rows if row[0] == action)


def write_carelessly(warehouse: PostgresWarehouse, state: State, reader: ConcurrentReader) -> None:
    warehouse.execute("CREATE TABLE careless (action text, hour timestamptz, count bigint)")
    for action, hour, count in sorted(row for rows in state for row, _ in rows):
        warehouse.execute("INSERT INTO careless VALUES (%s, %s, %s)", action, hour, count)
        reader.look()


def test_a_day_from_files_to_postgres_through_the_gate(building: Building) -> None:
    for day in ("first", "second"):
        building.doors(3)
        for step in STEPS:
            assert building.step(step, day).outcome is Outcome.DONE
        files = [str(path) for path in building.input.iterdir()]
        assert building.table() == state_of(batch_query(files))
    assert building.step("doctor", "third").outcome is Outcome.SKIPPED
