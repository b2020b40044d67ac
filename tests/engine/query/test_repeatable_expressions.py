"""Expressions of a spec that use the clock or chance are refused by their fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidemill.engine.query.refusals import TransformNotRepeatable
from tidemill.engine.query.repeatable_expressions import refuse_unrepeatable_expressions
from tidemill.spec.spec import Spec

FILE = Path("orders.yaml")


def spec(own: dict[str, str], **more: Any) -> Spec:
    source = {"kind": "file", "format": "csv", "path": "/in", "schema": "id string, at timestamp"}
    orders = {**source, "row_rules": own}
    return Spec.model_validate(
        {"sources": {"orders": orders}, "event_time": {"column": "at"}, **more}
    )


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (spec({}, row_rules={"past": "at < now()"}), "row_rules.past"),
        (spec({"some": "rand() < 0.1"}), "sources.orders.row_rules.some"),
        (
            spec({}, output={"partition_by": {"day": "coalesce(at::date, current_date)"}}),
            "output.partition_by.day",
        ),
    ],
)
def test_a_rule_or_partition_by_the_clock_or_chance_is_named(given: Spec, field: str) -> None:
    with pytest.raises(TransformNotRepeatable) as refused:
        refuse_unrepeatable_expressions(given, FILE)
    assert refused.value.field == field


def test_rules_of_the_row_are_not() -> None:
    given = spec({"new": "at > timestamp'2026-03-01'"}, row_rules={"named": "id <> 'now()'"})
    refuse_unrepeatable_expressions(given, FILE)
