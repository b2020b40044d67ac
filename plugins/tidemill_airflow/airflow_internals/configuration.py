"""Airflow's configuration, as its own components read it."""

from airflow.configuration import conf

__all__ = ["conf"]

CALLS = {"airflow.configuration:conf.get": ("section", "key", "fallback=")}
