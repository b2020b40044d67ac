"""Fields of JSON that a schema does not name: ignored, refused with the run, or rescued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.recompute_requests import ask
from tidemill.contract.report import Outcome

SPEC: dict[str, Any] = {
    "event_time": {"column": "at"},
    "output": {"partition_by": {"day": "to_date(at)"}},
    "gate": {"rejected": {"hold_above": 0.9}},
}
SCHEMA = "id string, at timestamp, buyer struct<name: string>"
TRANSFORM = "def transform(orders):\n    return orders.drop('buyer')\n"
AT = '"at": "2026-03-01T10:00:00Z"'
# Each line, and what is rescued of it.
LINES = {
    f'{{"id": "a", {AT}, "buyer": {{"name": "Bo"}}}}': None,
    f'{{"id": "b", {AT}, "qty": 2, "tags": ["x", {{"y": 1.5}}], "no": null}}': (
        '{"qty":2,"tags":["x",{"y":1.5}],"no":null}'
    ),
    f'{{"id": "c", {AT}, "buyer": {{"name": "Bo", "age": 7}}, "ID": "C"}}': (
        '{"ID":"C","buyer":{"age":7}}'
    ),
    f'{{"id": "d", {AT}, "qty": 1, "qty": 12345678901234567890.5}}': (
        '{"qty":12345678901234567890.5}'
    ),
}
# Its fields cannot be told apart.
TWICE = f'{{"id": "e", {AT}, "in": {{"x": 1, "x": 2}}}}'


def flow_of(home: Path, policy: Any) -> JsonPipeline:
    sources = {"orders": {"new_fields": policy}}
    return JsonPipeline(home, {"orders": SCHEMA}, {**SPEC, "sources": sources}, TRANSFORM)


def test_what_is_rescued_of_a_row_is_a_column_and_the_same_when_it_is_computed_again(
    tmp_path: Path, spark: object
) -> None:
    flow = flow_of(tmp_path, {"rescue": "rest"})
    flow.arrive_text("orders", "one", [*LINES, TWICE, '{"id": 1, "more": 2'])
    assert flow.go("first").outcome is Outcome.DONE
    rescued = dict(flow.published("id", "rest"))
    assert rescued.pop("e") == TWICE
    assert list(rescued.values()) == list(LINES.values())
    assert flow.batches[0].rejected == 1
    table = flow.published()
    assert ask(flow, "rebuild", "again")["publish"].outcome is Outcome.DONE
    assert flow.published() == table


@pytest.mark.remedy("NewFields")
def test_a_run_is_refused_with_the_names_and_takes_the_batch_in_once_they_are_allowed(
    tmp_path: Path, spark: object
) -> None:
    flow = flow_of(tmp_path, "refuse")
    known, _, nested, _ = LINES
    flow.arrive_text("orders", "one", [known])
    assert flow.go("first").outcome is Outcome.DONE
    file = flow.arrive_text("orders", "two", [known.replace('"a"', '"f"'), nested])
    refused = flow.run("second")["ingest"].error
    assert refused is not None
    assert (refused["code"], refused["transient"]) == ("NewFields", False)
    assert refused["data"]["origin"] == str(file)
    assert sorted(refused["data"]["fields"]) == ["ID", "buyer.age"]
    assert flow.published("id") == [("a",)]
    # As the remedy says.
    flow.write(sources={"orders": {"new_fields": "ignore"}})
    assert flow.go("third").outcome is Outcome.DONE
    assert flow.published("id") == [("a",), ("c",), ("f",)]
