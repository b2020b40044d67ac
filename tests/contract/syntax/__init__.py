"""Tests of `tidemill.contract.syntax`."""
