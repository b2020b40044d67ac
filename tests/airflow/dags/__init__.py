"""Tests of `tidemill_airflow.dags`."""
