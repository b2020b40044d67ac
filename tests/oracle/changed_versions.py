"""The other versions of the shipped pipelines: other code, another row rule, or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.oracle.cases import CASES
from tests.oracle.history_facts import Model, Slots
from tests.oracle.pipeline_inputs import Kind
from tests.oracle.reading import Rule, Takes, among, everything
from tests.oracle.times import MINUTE

# A condition on a watermark's time stays above it; Spark would move any other below.
ABOVE = "AND year(at) > 0"


@dataclass(frozen=True)
class Other:
    """How a pipeline is also written.

    Args:
        code: A text of the transform, and what stands in its place.
        taken: Which rows that leaves; the others are dropped and not rejected.
        rule: Name, SQL and meaning of a further row rule.
        slots: The partitions: hours, so that a history has several; None where nothing has any.
        step: Minutes by which each round is later than the one before.
        rejects: Whether batches are independent, so that input can be rejected.
    """

    code: tuple[str, str]
    taken: Takes
    rule: tuple[str, str, Rule] | None
    slots: Slots | None = None
    step: int = 25
    rejects: bool = False


@dataclass(frozen=True)
class Versions:
    """A pipeline's models by whether its code and its rules are the other ones."""

    models: Mapping[tuple[bool, bool], Model]

    @classmethod
    def of(cls, name: str) -> Versions:
        """The versions of a shipped pipeline."""
        other, first = OTHERS[name], dict[str, Any](slots=OTHERS[name].slots)
        model: Any = CASES[name].model
        rules = (
            {} if other.rule is None else {"rules": {**model.rules, other.rule[0]: other.rule[2]}}
        )
        return cls(
            {
                (code, rule): replace(
                    model,
                    **first,
                    **(rules if rule else {}),
                    taken=other.taken if code else everything,
                )
                for code in (False, True)
                for rule in (False, True)
            }
        )


def kind_of(name: str) -> Kind:
    """What its histories are made of, spread over some hours."""
    return replace(CASES[name].kind, step=OTHERS[name].step)


def _but(source: str, unwanted: Callable[[Any], bool]) -> Takes:
    return lambda name, row: name != source or not unwanted(row)


def _where(before: str, source: str, sql: str) -> tuple[str, str]:
    """Code that drops rows before anything else; `before` begins with the source."""
    return before, before.replace(source, f'{source}.where("NOT ({sql})")', 1)


OTHERS = {
    "click_revenue": Other(
        _where("clicks.join(", "clicks", "ad = 'b'"),
        _but("clicks", lambda row: row["ad"] == "b"),
        ("not_of_c", "ad <> 'c'", lambda row: row["ad"] != "c"),
        Slots("day", time="at"),
        rejects=True,
    ),
    "activity": Other(
        _where("readings.withColumnRenamed(", "readings", "User = 'b'"),
        _but("readings", lambda row: row["User"] == "b"),
        (
            "of_the_first_phone",
            "phone.device = 'nexus4_1'",
            lambda row: (row.get("phone") or {}).get("device") == "nexus4_1",
        ),
        Slots("day", time="Arrival_Time"),
        rejects=True,
    ),
    "customer_hours": Other(
        (
            "FROM actions JOIN",
            f"FROM (SELECT * FROM actions WHERE NOT (customer_id = '2' {ABOVE})) AS actions JOIN",
        ),
        _but("actions", lambda row: row["customer_id"] == "2"),
        ("not_three", "customer_id <> '3'", lambda row: row["customer_id"] != "3"),
        Slots("day", result=0, read="at", forgives=True),
        step=60,
    ),
    "sensor_windows": Other(
        (
            "tumbling = _in",
            f"""readings = readings.where("NOT (coalesce(error_code, '') = 'E2' {ABOVE})")
    tumbling = _in""",
        ),
        _but("readings", lambda row: row["error_code"] == "E2"),
        ("not_t", "sensor <> 't'", lambda row: row["sensor"] != "t"),
        Slots("day", result=1, read="at", forgives=True, open_ms=5 * MINUTE),
    ),
    "device_totals": Other(
        _where("reports.groupBy", "reports", "device = 'b'"),
        _but("reports", lambda row: row["device"] == "b"),
        ("no_gate", "type <> 'gate'", lambda row: row["type"] != "gate"),
    ),
    "device_signals": Other(
        ("NOISE = 10", "NOISE = 20"),
        lambda _, row: Decimal(row["signal"]) > 20,
        ("of_device_a", "device = 'a'", among("device", "a")),
        Slots("day", time="at"),
        rejects=True,
    ),
    "windowed_words": Other(
        _where("lines.select(", "lines", f"text = 'mill' {ABOVE}"),
        _but("lines", lambda row: row["text"] == "mill"),
        ("of_one_word", "text NOT LIKE '%mill'", lambda row: not row["text"].endswith("mill")),
        Slots("day", result=0, read="at", forgives=True, open_ms=5 * MINUTE),
    ),
    "unique_events": Other(
        _where("events.dropDuplicates", "events", f"id LIKE 'b%' {ABOVE}"),
        _but("events", lambda row: row["id"].startswith("b")),
        (
            "no_twenty",
            "minute(at) <> 20",
            lambda row: datetime.fromisoformat(row["at"]).minute != 20,
        ),
        Slots("day", time="at"),
        step=45,
    ),
    "user_sessions": Other(
        _where("actions.withColumn", "actions", f"action = 'view' {ABOVE}"),
        _but("actions", lambda row: row["action"] == "view"),
        ("not_bo", "user <> 'bo'", lambda row: row["user"] != "bo"),
        Slots("day", result=1, read="at"),
    ),
    "word_count": Other(
        _where("lines.select(", "lines", "value = 'mill'"),
        _but("lines", lambda row: row["value"] == "mill"),
        None,
    ),
    "retail_daily": Other(
        _where("invoices.groupBy", "invoices", "Country = 'EIRE'"),
        _but("invoices", lambda row: row["Country"] == "EIRE"),
        ("few", "Quantity < 5", lambda row: int(row["Quantity"]) < 5),
        step=24 * 60,
    ),
}
