"""Tests of `tidemill.contract`."""
