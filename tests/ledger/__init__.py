"""Tests of the readers and records of `tidemill.ledger`."""
