"""The rows of tests/matrix.yaml about targets: each mode arrives at each, or is refused."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.support.histories.history_builder import History
from tests.support.histories.net_history_builder import COUNTS, NetHistory, count, hour
from tests.support.iceberg_catalogue import Catalogue
from tests.support.warehouse import WAREHOUSES
from tidemill.contract.errors import SpecError
from tidemill.contract.report import Outcome

if TYPE_CHECKING:
    from tests.servers.kafka import Broker
    from tests.servers.mariadb import MariaDB
    from tests.servers.postgres import Postgres

MATRIX = yaml.safe_load((Path(__file__).parents[1] / "matrix.yaml").read_text())["targets"]
INCREMENTS = (
    [count("open", 1, 1), count("close", 1, 1)],
    [count("open", 1, 4)],
)
ARRIVES = {
    "append": [("close", 1, 1), ("open", 1, 1), ("open", 1, 4)],
    "update": [("close", 1, 1), ("open", 1, 4)],
    "complete": [("open", 1, 4)],
}


def rows_that(says: str) -> Any:
    rows = [(row["target"], row["mode"]) for row in MATRIX if row["says"] == says]
    return pytest.mark.parametrize(("target", "mode"), rows)


def history_of(home: Path, mode: str, target: str) -> History:
    more = f"publish: [{target}]"
    if mode == "append":
        return History(home, columns=COUNTS, partitions={}, more=more)
    return NetHistory(home, mode=mode, more=more)


@rows_that("run")
def test_a_mode_arrives_at_a_target(
    target: str,
    mode: str,
    tmp_path: Path,
    broker: Broker,
    postgres: Postgres,
    mariadb: MariaDB,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = f"counts-{uuid.uuid4().hex[:8]}"
    given = f"{{kind: {target}}}"
    warehouse = None
    if target in WAREHOUSES:
        server: Any = postgres if target == "postgres" else mariadb
        warehouse = WAREHOUSES[target](server)
        monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", warehouse.connection)
        given = warehouse.target("counts")
    elif target == "kafka":
        broker.create_topic(topic)
        extra = {"conn_type": "kafka", "extra": broker.settings()}
        monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(extra))
        given = f"{{kind: kafka, topic: {topic}, key: [action, hour]}}"
    elif target == "iceberg":
        given = Catalogue(tmp_path).target
    history = history_of(tmp_path / "pipeline", mode, given)

    for increment in INCREMENTS:
        history.increment(increment)
        assert history.publish().outcome is Outcome.DONE

    if warehouse is not None:
        found = warehouse.rows("action", "count", table="counts").elements()
        rows = sorted((action, 1, int(number)) for action, number in found)
    elif target == "iceberg":
        found = Catalogue(tmp_path).rows("action", "count").elements()
        rows = sorted((action, 1, int(number)) for action, number in found)
    elif target == "kafka":
        # A reader of a changelog keeps the last record of each key.
        values = [
            {**json.loads(message.key()), **json.loads(message.value())}
            for message in broker.records(topic)
        ]
        if mode == "update":
            values = list({value["action"]: value for value in values}.values())
        elif mode == "complete":
            values = values[-1:]
        rows = sorted((value["action"], 1, value["count"]) for value in values)
    elif target == "files":
        documents = sorted(history.layout.published.glob("[0-9]*.json"))
        assert len(documents) == len(INCREMENTS)
        listed = [
            file["rows"] for one in documents for file in json.loads(one.read_text())["files"]
        ]
        assert sum(listed) == len(ARRIVES[mode])
        return
    else:
        published = [(row["action"], row["hour"], row["count"]) for row in history.published()]
        assert {at for _, at, _ in published} == {hour(1)}
        rows = sorted((action, 1, number) for action, _, number in published)
    assert rows == ARRIVES[mode]


@rows_that("refuse")
def test_a_mode_that_a_target_cannot_take_is_refused(
    target: str, mode: str, tmp_path: Path
) -> None:
    history = history_of(tmp_path / "pipeline", mode, f"{{kind: {target}}}")
    with pytest.raises(SpecError) as error:
        _ = history.pipeline
    assert str(error.value.field).partition(".")[0].partition("[")[0] == "publish"
