"""Tests of the readers and records of `spark_jobs.ledger`."""
