"""Tests of `tidemill.ledger`."""
