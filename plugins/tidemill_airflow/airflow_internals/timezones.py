"""Airflow's own type of instants, which its timetables compare."""

from airflow.sdk.timezone import coerce_datetime

__all__ = ["coerce_datetime"]

CALLS = {"airflow.sdk.timezone:coerce_datetime": ("v",)}
