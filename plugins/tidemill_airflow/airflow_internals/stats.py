"""The receivers of metrics that Airflow's section `[metrics]` names."""

from airflow.sdk.observability.stats import gauge, incr, normalize_name_for_stats, timing

__all__ = ["gauge", "incr", "normalize_name_for_stats", "timing"]

CALLS = {
    "airflow.sdk.observability.stats:gauge": ("stat", "value", "tags="),
    "airflow.sdk.observability.stats:incr": ("stat", "count", "tags="),
    "airflow.sdk.observability.stats:normalize_name_for_stats": ("name", "log_warning="),
    "airflow.sdk.observability.stats:timing": ("stat", "dt", "tags="),
}
