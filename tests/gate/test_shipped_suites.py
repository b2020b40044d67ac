"""The shipped suites let ordinary days through and hold the planted one."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.parquet_sink import spark_schema, write_file
from tidemill.contract.project import REPOSITORY, Project
from tidemill.gate.engine_choice import choose_engine
from tidemill.gate.in_process import InProcess
from tidemill.gate.judge import judge
from tidemill.gate.sample import Sample
from tidemill.gate.suite import Suite, load_suite
from tidemill.increments.judgement import Judgement

DAY = {"order_date": "2026-03-01"}
NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
AT = pa.timestamp("us", "UTC")


def suite_named(name: str) -> Suite:
    return load_suite(Project(REPOSITORY).suite(name))


def shop_orders(quantities: list[int]) -> dict[str, pa.Array]:
    rows = len(quantities)
    return {
        "order_id": pa.array([f"SO-001{n:03d}" for n in range(rows)]),
        "customer_id": pa.array([None, *["C0001"] * (rows - 1)]),
        "product": pa.array(['sieve "fine"'] * rows),
        "quantity": pa.array(quantities, pa.int32()),
        "unit_price": pa.array([Decimal("4.10")] * rows, pa.decimal128(10, 2)),
        "ordered_at": pa.array([NOON] * rows, AT),
        "amount": pa.array([Decimal("4.10") * q for q in quantities], pa.decimal128(12, 2)),
    }


def retail(quantities: list[int], cancelled: int) -> dict[str, pa.Array]:
    """Invoice lines, of which the first ones are cancelled."""
    rows = len(quantities)
    price = Decimal("2.550")
    return {
        "invoice_no": pa.array(
            [f"{'C' if n < cancelled else ''}{536379 + n}" for n in range(rows)]
        ),
        "stock_code": pa.array(["85123A"] * rows),
        "description": pa.array(["WHITE HANGING HEART T-LIGHT HOLDER"] * rows),
        "quantity": pa.array(quantities, pa.int32()),
        "invoice_date": pa.array([NOON] * rows, AT),
        "unit_price": pa.array([price] * rows, pa.decimal128(10, 3)),
        "customer_id": pa.array([17850] * rows, pa.int32()),
        "country": pa.array(["United Kingdom"] * rows),
        "is_cancellation": pa.array([n < cancelled for n in range(rows)]),
        "is_product": pa.array([True] * rows),
        "amount": pa.array([price * q for q in quantities], pa.decimal128(14, 3)),
    }


def sample_of(rows: dict[str, pa.Array], folder: Path) -> Sample:
    kinds: dict[str, Any] = {name: values.type for name, values in rows.items()}
    file = write_file(pa.table(rows), folder / "_live-0001", DAY)
    return Sample((file,), spark_schema({**kinds, "order_date": "date"}), "Europe/London")


def judged(name: str, rows: dict[str, pa.Array], folder: Path) -> Judgement:
    return judge(
        sample_of(rows, folder),
        suite_named(name),
        InProcess(),
        run_name="run",
        docs=folder / "docs",
        results=folder / "runs",
        samples=20,
    )


def actions_per_hour(counts: list[int]) -> dict[str, pa.Array]:
    hours = [NOON + datetime.timedelta(hours=number) for number in range(len(counts))]
    return {
        "action": pa.array(["open"] * len(counts)),
        "hour": pa.array(hours, AT),
        "count": pa.array(counts, pa.int64()),
    }


def word_counts(counts: list[int]) -> dict[str, pa.Array]:
    return {
        "word": pa.array([f"word{number}" for number in range(len(counts))]),
        "count": pa.array(counts, pa.int64()),
    }


def events_kafka(delays: list[int]) -> dict[str, pa.Array]:
    rows = len(delays)
    return {
        "event_id": pa.array([f"{n:08x}-0000" for n in range(rows)]),
        "visitor": pa.array(["V1"] * rows),
        "action": pa.array(["view"] * rows),
        "product": pa.array(["mug"] * rows),
        "price": pa.array([Decimal("4.10")] * rows, pa.decimal128(10, 2)),
        "seconds_late": pa.array(delays, pa.int64()),
    }


def made_of(**values: list[Any]) -> dict[str, pa.Array]:
    return {name: pa.array(found) for name, found in values.items()}


def windows(starts: list[int], **values: list[Any]) -> dict[str, pa.Array]:
    """Windows of ten minutes that begin so many minutes after noon."""
    begin = [NOON + datetime.timedelta(minutes=minutes) for minutes in starts]
    end = [start + datetime.timedelta(minutes=10) for start in begin]
    times = {"window_start": pa.array(begin, AT), "window_end": pa.array(end, AT)}
    return {**times, **made_of(**values)}


def signals(values: list[float]) -> dict[str, pa.Array]:
    return made_of(type=["gauge"] * len(values), signal=values)


def totals(types: list[str]) -> dict[str, pa.Array]:
    return made_of(type=types, reports=[1] * len(types), mean_signal=[12.5] * len(types))


def sensors(starts: list[int]) -> dict[str, pa.Array]:
    many = len(starts)
    values: dict[str, list[Any]] = {"shape": ["sliding"] * many, "sensor": ["roof"] * many}
    return windows(starts, **values, readings=[2] * many, mean=[19.0] * many)


def baselines(values: list[float]) -> dict[str, pa.Array]:
    many = len(values)
    names = [f"roof-{number}" for number in range(many)]
    return made_of(sensor=names, readings=[1] * many, baseline=values)


def clicks(campaigns: list[str | None]) -> dict[str, pa.Array]:
    times = pa.array([NOON] * len(campaigns), AT)
    return {"campaign": pa.array(campaigns), "shown_at": times, "clicked_at": times}


def events(ids: list[str]) -> dict[str, pa.Array]:
    return made_of(id=ids, kind=["open"] * len(ids))


def retail_days(taken_back: list[str]) -> dict[str, pa.Array]:
    many = len(taken_back)
    money = [Decimal(amount) for amount in taken_back]
    return made_of(
        country=[f"Country {number}" for number in range(many)],
        orders=[2] * many,
        cancellations=[1] * many,
        revenue=[Decimal("10.000")] * many,
        taken_back=money,
    )


def revenue(names: list[str]) -> dict[str, pa.Array]:
    many = len(names)
    prices = pa.array([Decimal("0.25")] * many, pa.decimal128(8, 2))
    return {**made_of(click=names, campaign=["tea"] * many), "price": prices}


def customers(actions: list[int]) -> dict[str, pa.Array]:
    many = len(actions)
    hours = {"hour": pa.array([NOON] * many, AT)}
    names = [f"C{number}" for number in range(many)]
    return {**hours, **made_of(customer_id=names, name=names, actions=actions)}


def statuses(actions: list[int]) -> dict[str, pa.Array]:
    many = len(actions)
    return made_of(user=["user-01"] * many, status=["inactive"] * many, actions=actions)


def readings(strengths: list[float]) -> dict[str, pa.Array]:
    many = len(strengths)
    times = pa.array([NOON] * many, AT)
    named = made_of(user=["a"] * many, activity=["walk", None] * (many // 2), strength=strengths)
    return {**named, "arrived": times, "created": times}


GOOD = {
    "activity": readings([9.8, 14.2]),
    "user_sessions": statuses([0, 3]),
    "click_revenue": revenue(["1", "2"]),
    "customer_hours": customers([1, 2]),
    "ad_clicks": clicks(["tea", "flour"]),
    "ad_clicks_inner": clicks(["tea", "flour"]),
    "device_signals": signals([10.5, 22.0]),
    "device_totals": totals(["gauge", "pump"]),
    "retail_daily": retail_days(["0.000", "-2.550"]),
    "sensor_baselines": baselines([19.0, -4.5]),
    "sensor_windows": sensors([0, 5]),
    "unique_events": events(["1", "2"]),
    "windowed_words": windows([0, 5], word=["tide", "tide"], count=[1, 2]),
    "word_count": word_counts([1, 2, 3]),
    "actions_per_hour": actions_per_hour([1, 2, 3]),
    "events_kafka": events_kafka([0, 1, -2] * 20),
    "retail": retail([-1] + [6] * 59, 1),
    "shop_orders": shop_orders([1, 2, 3] * 20),
    "word_count_kafka": word_counts([1, 2, 3]),
}
PLANTED = {
    # In thousandths of m/s².
    "activity": (readings([9800.0, 14200.0]), ("strength",)),
    "user_sessions": (statuses([0, -1]), ("actions",)),
    "click_revenue": (revenue(["1", "1"]), ("click",)),
    "customer_hours": (customers([1, 0]), ("actions",)),
    "ad_clicks": (clicks(["tea", None]), ("campaign",)),
    "ad_clicks_inner": (clicks(["tea", None]), ("campaign",)),
    "device_signals": (signals([10.5, 9.9]), ("signal",)),
    "device_totals": (totals(["gauge", "gauge"]), ("type",)),
    # The feed has lost its minus signs.
    "retail_daily": (retail_days(["0.000", "2.550"]), ("taken_back",)),
    "sensor_baselines": (baselines([19.0, 900.0]), ("baseline",)),
    "sensor_windows": (sensors([5, 5]), ("shape", "window_start", "sensor")),
    "unique_events": (events(["1", "1"]), ("id",)),
    "windowed_words": (
        windows([5, 5], word=["tide", "tide"], count=[1, 2]),
        ("window_start", "word"),
    ),
    "word_count": (word_counts([1, 0]), ("count",)),
    # A quarter of the shops has set its clock wrong.
    "events_kafka": (events_kafka([1, 1, 1, -3600] * 15), ("seconds_late",)),
    # Two fifths of the quantities are negative; and the feed has lost its minus signs.
    "shop_orders": (shop_orders([1, 2, 3, -1, -2] * 12), ("quantity",)),
    "retail": (retail([1] + [6] * 59, 1), ("quantity", "is_cancellation")),
    "actions_per_hour": (actions_per_hour([1, -1]), ("count",)),
    "word_count_kafka": (word_counts([1, 0]), ("count",)),
}


@pytest.mark.parametrize("name", GOOD)
def test_an_ordinary_day_passes_without_a_warning(tmp_path: Path, name: str) -> None:
    judgement = judged(name, GOOD[name], tmp_path)
    assert (judgement.success, judgement.warnings) == (True, ())


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_bad_day_is_held_by_one_rule(tmp_path: Path, name: str) -> None:
    rows, columns = PLANTED[name]
    judgement = judged(name, rows, tmp_path)
    assert [outcome.columns for outcome in judgement.failed_critical] == [columns]


def test_orders_sent_twice_are_a_warning(tmp_path: Path) -> None:
    rows = shop_orders([1] * 10)
    rows["order_id"] = pa.array([f"SO-{n:06d}" for n in (0, *range(9))])
    (warning,) = judged("shop_orders", rows, tmp_path).warnings
    assert (warning.scope, warning.columns, warning.unexpected_count) == ("table", ("order_id",), 2)


@pytest.mark.parametrize("name", GOOD)
def test_a_small_increment_needs_no_jvm(tmp_path: Path, name: str) -> None:
    columns = sample_of(GOOD[name], tmp_path).columns
    assert choose_engine(1, 100, suite_named(name), columns).engine == "in_process"


def test_the_retail_suite_has_one_critical_rule() -> None:
    critical = [e for e in suite_named("retail").expectations if e.severity == "critical"]
    assert [e.columns for e in critical] == [("quantity", "is_cancellation")]
