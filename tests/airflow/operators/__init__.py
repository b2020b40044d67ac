"""Tests of `tidemill_airflow.operators`."""
