"""Tests of `tidemill.spark_logs`."""
