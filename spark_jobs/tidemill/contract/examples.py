"""The example pipelines of this repository, and which of them an Airflow shows.

All of them can be run at a shell. Airflow shows the demo's, and others on request, so that its list
holds a user's own pipelines.
"""

SHOWN = "TIDEMILL_EXAMPLES"
DEMO = "shop_orders"
ALL = "all"

# Example -> the module of `tidemill.samples` that writes input for it; None where there is none.
EXAMPLES: dict[str, str | None] = {
    "actions_per_hour": "activity",
    "activity": "activity",
    "ad_clicks": "ad_clicks",
    "ad_clicks_inner": "ad_clicks",
    "click_revenue": "click_revenue",
    "customer_hours": "customer_hours",
    "device_signals": "devices",
    "device_totals": "devices",
    "events_kafka": None,
    "retail": None,
    "retail_daily": "retail_daily",
    "sensor_baselines": "sensors",
    "sensor_windows": "sensors",
    "shop_orders": "shop_orders",
    "unique_events": "unique_events",
    "user_sessions": "user_sessions",
    "windowed_words": "windowed_words",
    "word_count": "word_count",
    "word_count_kafka": None,
}
