"""`tidemill late` lists late rows, `status` counts them, `tidemill state list` names operators."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History
from tests.support.remedies import carry_out
from tidemill.contract.errors import ExitCode
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.late_rows import COLUMNS, LateLog, LateRows, counts_in

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def put(log: LateLog, batch: int, *sources: str) -> None:
    """Write down that rows of some sources were late in a batch."""
    folder = log.rows_of(batch)
    if sources:
        folder.mkdir(parents=True)
        texts = [("Aggregate 0", name, NOON, NOON, f'{{"n":{batch}}}') for name in sources]
        columns = [pa.array(column) for column in zip(*texts, strict=True)]
        parquet.write_table(pa.table(columns, [*COLUMNS]), folder / "part-0.parquet")
    counts = counts_in(folder) if sources else ()
    log.put(LateRows(batch=batch, watermark_ms=0, counts=counts))


@pytest.fixture
def log(history: History) -> LateLog:
    found = LateLog(history.layout, FIRST_GENERATION)
    put(found, 0)
    put(found, 1, "orders", "orders", "returns")
    found.put(LateRows(batch=2, watermark_ms=0, unknown="a.csv is gone"))
    put(found, 3, "orders")
    return found


def test_late_rows_are_listed_the_newest_first(log: LateLog, tidemill: Tidemill) -> None:
    found = tidemill("late", "orders", "--limit", "2", "--json").json

    assert found["late"] == 4
    assert [row["batch"] for row in found["rows"]] == [3, 1]
    assert found["rows"][0] == {
        "batch": 3,
        "operator": "Aggregate 0",
        "source": "orders",
        "event_time": NOON.isoformat(),
        "watermark": NOON.isoformat(),
        "record": '{"n":3}',
    }


def test_batches_with_late_rows_or_an_unknown_number_are_named(
    log: LateLog, tidemill: Tidemill
) -> None:
    batches = tidemill("late", "orders", "--json").json["batches"]

    assert [one["batch"] for one in batches] == [1, 2, 3]
    assert {one["source"]: one["rows"] for one in batches[0]["counts"]} == {
        "orders": 2,
        "returns": 1,
    }
    assert batches[1]["unknown"] == "a.csv is gone"


def test_status_counts_them(log: LateLog, tidemill: Tidemill) -> None:
    assert tidemill("status", "orders", "--json").pipeline["late"] == 4
    assert any(
        line.startswith("late: 4") for line in tidemill("status", "orders").stdout.split("\n")
    )


def test_a_pipeline_without_late_rows_says_so(history: History, tidemill: Tidemill) -> None:
    answer = tidemill("late", "orders")

    assert (answer.exit_code, len(answer.stdout.splitlines())) == (ExitCode.DONE, 1)
    assert tidemill("late", "orders", "--json").json["rows"] == []


def test_operators_are_listed_as_the_checkpoint_has_them(
    history: History, tidemill: Tidemill
) -> None:
    assert tidemill("state", "list", "orders", "--json").json["operators"] == []
    variable = {"stateName": "seen", "stateVariableType": "ValueState", "ttlEnabled": False}
    said = {
        "operatorInfo": {"operatorId": 0, "operatorName": "transformWithStateExec"},
        "operatorPropertiesJson": json.dumps({"stateVariables": [variable]}),
        "stateStoreInfo": [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}],
    }
    # The last of several holds.
    for batch, text in ((9, "v2\n{}"), (10, f"v2\n{json.dumps(said)}")):
        place = history.checkpoint / "state" / "0" / "_metadata" / "v2"
        place.mkdir(parents=True, exist_ok=True)
        (place / str(batch)).write_text(text)
    (operator,) = tidemill("state", "list", "orders", "--json").json["operators"]

    assert (operator["name"], operator["partitions"]) == ("transformWithStateExec", 2)
    assert operator["variables"] == [{"name": "seen", "kind": "ValueState"}]


@pytest.mark.remedy("NoState")
def test_state_of_a_pipeline_that_keeps_none_is_wrong_usage(
    history: History, tidemill: Tidemill
) -> None:
    answer = tidemill("state", "show", "orders", "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoState")
    carry_out(history, answer.json["remedy"], "status")
