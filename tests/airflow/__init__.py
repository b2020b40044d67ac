"""Tests of the Airflow side."""
