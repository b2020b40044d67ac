"""Tests of `spark_jobs.contract`."""
