"""Tests of `tidemill_airflow.local`."""
