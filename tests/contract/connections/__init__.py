"""Tests of `tidemill.contract.connections`."""
