"""The shipped pipelines: each with its model, and what its histories are made of."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from tests.oracle import inputs, models
from tests.oracle.history_facts import Model
from tests.oracle.inputs import HEADER
from tests.oracle.pipeline_inputs import Kind
from tests.oracle.reading import CsvModel, JsonModel, LineModel, among, given, whole_reading
from tests.oracle.times import HOUR, MINUTE
from tests.oracle.watermark import Watermarks


@dataclass(frozen=True)
class Case:
    """A shipped pipeline.

    Args:
        model: In plain Python.
        kind: The kind of its histories.
        pipeline: Its name, where the case has another.
        kafka: Whether its input comes from a topic instead of files.
    """

    model: Model
    kind: Kind
    pipeline: str = ""
    kafka: bool = False


WINDOWED_WORDS = JsonModel(
    ("window_start", "window_end", "word", "count"),
    {"a_line": given("text")},
    models.windowed_words,
    Watermarks({"lines": 10 * MINUTE}),
    models.late_words,
)
OF_REPORTS = {"type_known": given("type"), "signal_present": given("signal")}

OF_READINGS = {"sensor_known": given("sensor"), "value_present": given("value")}
OF_VALUES = ("lowest", "highest", "error_codes")

OF_ADS = (
    ("ad", "shown_at", "clicked_at"),
    {"ad_known": given("ad")},
)
AD_WATERMARKS = Watermarks({"impressions": 2 * HOUR, "clicks": 3 * HOUR})


SESSIONS = JsonModel(
    ("user", "since", "status"),
    {
        "user_known": given("user"),
        "action_known": among("action", "login", "login_failed", "view", "buy"),
    },
    models.user_sessions,
    Watermarks({"actions": 10 * MINUTE}),
    models.late_by_time,
)
ACTIVITY = JsonModel(
    (
        *("index", "user", "arrived", "created", "activity", "model", "device"),
        *("reading", "strength", "tags"),
    ),
    {
        "activity_known": among(
            "gt", "sit", "stand", "walk", "bike", "stairsup", "stairsdown", "null"
        ),
        "reading_whole": whole_reading,
    },
    models.activity,
    time="Arrival_Time",
    decimals=["reading.x", "reading.y", "reading.z"],
)
RETAIL_DAILY = CsvModel(
    ("order_date", "country", "orders", "cancellations", "revenue", "taken_back"),
    HEADER,
    {
        "invoice_known": given("InvoiceNo"),
        "country_known": given("Country"),
        "quantity_present": given("Quantity"),
        "price_not_negative": lambda row: Decimal(row["UnitPrice"] or -1) >= 0,
    },
    ["Quantity", "UnitPrice", "CustomerID"],
    "InvoiceDate",
    models.retail_daily,
)
CASES = {
    "word_count": Case(
        LineModel(("word", "count"), models.word_count), Kind(lambda _: inputs.WORDS, ["lines"])
    ),
    "windowed_words": Case(WINDOWED_WORDS, inputs.LINES),
    "windowed_words_kafka": Case(WINDOWED_WORDS, inputs.LINES, "windowed_words", kafka=True),
    "device_signals": Case(
        JsonModel(("device", "signal"), OF_REPORTS, models.device_signals, decimals=["signal"]),
        inputs.REPORTS,
    ),
    "device_totals": Case(
        JsonModel(
            ("type", "reports", "mean_signal"),
            OF_REPORTS,
            models.device_totals,
            decimals=["signal"],
        ),
        inputs.REPORTS,
    ),
    "sensor_windows": Case(
        JsonModel(
            ("shape", "window_start", "sensor", "readings", "mean", *OF_VALUES),
            OF_READINGS,
            models.sensor_windows,
            Watermarks({"readings": 10 * MINUTE}),
            models.late_readings,
            decimals=["value"],
        ),
        inputs.READINGS,
    ),
    "sensor_baselines": Case(
        JsonModel(
            ("sensor", "readings", "baseline", *OF_VALUES),
            OF_READINGS,
            models.sensor_baselines,
            decimals=["value"],
        ),
        Kind(inputs.READINGS.rows, inputs.READINGS.sources),
    ),
    "ad_clicks": Case(
        JsonModel(*OF_ADS, models.ad_clicks, AD_WATERMARKS, models.late_by_time), inputs.ADS
    ),
    "ad_clicks_inner": Case(
        JsonModel(*OF_ADS, models.ad_clicks_inner, AD_WATERMARKS, models.late_by_time), inputs.ADS
    ),
    "unique_events": Case(
        JsonModel(
            ("id",),
            {"id_present": given("id")},
            models.unique_events,
            Watermarks({"events": HOUR}),
            models.late_by_time,
        ),
        inputs.EVENTS,
    ),
    "customer_hours": Case(
        JsonModel(
            ("hour", "customer_id", "name", "actions"),
            {"customer_given": given("customer_id")},
            models.customer_hours,
            Watermarks({"actions": HOUR}),
            models.late_actions,
        ),
        inputs.ACTIONS,
    ),
    "click_revenue": Case(
        JsonModel(
            ("click", "ad", "campaign", "price"), {"ad_known": given("ad")}, models.click_revenue
        ),
        inputs.CLICKS,
    ),
    "user_sessions": Case(SESSIONS, inputs.SESSIONS),
    "activity": Case(ACTIVITY, inputs.PHONES),
    "retail_daily": Case(RETAIL_DAILY, inputs.INVOICES),
}
